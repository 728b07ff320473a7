// SPDX-License-Identifier: Apache-2.0
/* Lines as kernels wrote them, each with the kind that it is. */
#include "events/event_kind.h"
#include "model/severity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* As docs/events.md has them. */
static const struct {
	const char *name;
	enum cam_severity severity;
} kinds[] = {
	{"oom-kill", CAM_SEVERITY_CRIT},	  {"soft-lockup", CAM_SEVERITY_CRIT},
	{"hard-lockup", CAM_SEVERITY_CRIT},	  {"hardware-error", CAM_SEVERITY_CRIT},
	{"kernel-bug", CAM_SEVERITY_CRIT},	  {"hung-task", CAM_SEVERITY_ERR},
	{"rcu-stall", CAM_SEVERITY_ERR},	  {"nic-reset", CAM_SEVERITY_ERR},
	{"io-error", CAM_SEVERITY_ERR},		  {"fs-error", CAM_SEVERITY_ERR},
	{"segfault", CAM_SEVERITY_WARNING},	  {"link-down", CAM_SEVERITY_WARNING},
	{"throttled", CAM_SEVERITY_WARNING},	  {"alloc-failure", CAM_SEVERITY_WARNING},
	{"clock-unstable", CAM_SEVERITY_WARNING}, {"link-up", CAM_SEVERITY_NOTICE},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static const struct {
	const char *line, *kind;
} known[] = {
	{"Out of memory: Killed process 1234 (java) total-vm:8388608kB", "oom-kill"},
	{"Memory cgroup out of memory: Killed process 77 (node) total-vm:1kB", "oom-kill"},
	{"stress invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE)", "oom-kill"},
	{"INFO: task kworker/0:1:23 blocked for more than 120 seconds.", "hung-task"},
	{"watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [qemu:991]", "soft-lockup"},
	{"NMI watchdog: Watchdog detected hard LOCKUP on cpu 2", "hard-lockup"},
	{"rcu: INFO: rcu_sched self-detected stall on CPU", "rcu-stall"},
	{"rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:", "rcu-stall"},
	{"a.out[99]: segfault at 0 ip 000055d0 sp 00007ffe error 4 in a.out", "segfault"},
	{"traps: x[1] general protection fault ip:7f sp:7f error:0", "segfault"},
	{"e1000e 0000:00:1f.6 eno1: NIC Link is Down", "link-down"},
	{"r8169 0000:03:00.0 eth0: Link is Up - 1Gbps/Full - flow control off", "link-up"},
	{"IPv6: ADDRCONF(NETDEV_CHANGE): eth0: link becomes ready", "link-up"},
	{"NETDEV WATCHDOG: eth0 (ena): transmit queue 3 timed out", "nic-reset"},
	{"ena 0000:00:05.0 eth0: Trigger reset is on", "nic-reset"},
	{"e1000 0000:00:03.0 eth0: Detected Tx Unit Hang", "nic-reset"},
	/* Drivers, each in its own words. */
	{"NETDEV WATCHDOG: CPU: 3: transmit queue 0 timed out 5004 ms", "nic-reset"},
	{"ena 0000:00:05.0 eth0: Found a Tx that wasn't completed on time, qid 2, index 7.",
	 "nic-reset"},
	{"ena 0000:00:05.0: Device reset completed successfully, Driver info: x", "nic-reset"},
	{"e1000e 0000:00:1f.6 eno1: Detected Hardware Unit Hang:", "nic-reset"},
	{"e1000e 0000:00:1f.6 eno1: Reset adapter unexpectedly", "nic-reset"},
	{"ixgbe 0000:03:00.0 eth0: tx hang 1 detected on queue 4, resetting adapter", "nic-reset"},
	{"ixgbe 0000:03:00.0 eth0: initiating reset due to tx timeout", "nic-reset"},
	{"i40e 0000:3b:00.0 eth0: tx_timeout: VSI_seid: 390, Q 5, NTC: 0x1a", "nic-reset"},
	{"i40e 0000:3b:00.0: TX driver issue detected, PF reset issued", "nic-reset"},
	{"mlx5_core 0000:05:00.0 eth2: TX timeout detected", "nic-reset"},
	{"mlx5_core 0000:05:00.0: poll_health:831:(pid 0): device's health compromised - "
	 "reached miss count",
	 "nic-reset"},
	{"bnxt_en 0000:af:00.0 eth0: TX timeout detected, starting reset task!", "nic-reset"},
	{"tg3 0000:02:00.0 eth0: transmit timed out, resetting", "nic-reset"},
	{"gve 0000:00:04.0 ens4: Timeout on tx queue, 3", "nic-reset"},
	{"virtio_net virtio0 eth0: TX timeout on queue: 0, sq: output.0, vq: 0x1", "nic-reset"},
	{"qlcnic 0000:06:00.0 eth0: transmit timeout, resetting.", "nic-reset"},
	{"mlx5_core 0000:05:00.0 eth2: Link down", "link-down"},
	{"mlx5_core 0000:05:00.0 eth2: Link up", "link-up"},
	{"bond0: (slave eth1): link status definitely down, disabling slave", "link-down"},
	{"bond0: (slave eth1): link status definitely up, 10000 Mbps full duplex", "link-up"},
	{"igc 0000:03:00.0 enp3s0: NIC Link is Down", "link-down"},
	{"cxgb4 0000:04:00.4 eth4: link down", "link-down"},
	{"Out of memory and no killable processes...", "oom-kill"},
	{"INFO: task dd:456 blocked in I/O wait for more than 122 seconds.", "hung-task"},
	{"watchdog: CPU 5 Hard LOCKUP", "hard-lockup"},
	{"a.out[99]: segfault (11) at 0 nip 10000 lr 10000 code 1 in a.out", "segfault"},
	{"a.out[99]: unhandled exception: DABT (lower EL), ESR 0x92000006", "segfault"},
	{"a.out[99]: unhandled signal 11 code 0x1 at 0x0000 in a.out", "segfault"},
	{"mce: [Hardware Error]: Machine check events logged", "hardware-error"},
	{"blk_update_request: I/O error, dev sda, sector 2048", "io-error"},
	{"Buffer I/O error on dev sdb1, logical block 0, async page read", "io-error"},
	{"nvme nvme0: I/O 12 QID 3 timeout, aborting", "io-error"},
	{"EXT4-fs error (device sda1): ext4_lookup:1700: inode #2", "fs-error"},
	{"XFS (dm-0): metadata I/O error in \"xfs_trans_read_buf_map\" at daddr 0x1", "fs-error"},
	{"BTRFS error (device sdc): bdev /dev/sdc errs: wr 1", "fs-error"},
	{"BUG: unable to handle page fault for address: ffff", "kernel-bug"},
	{"BUG: kernel NULL pointer dereference, address: 0000000000000008", "kernel-bug"},
	{"BUG: Bad page state in process kswapd0  pfn:1234", "kernel-bug"},
	{"BUG: scheduling while atomic: swapper/0/0/0x00000100", "kernel-bug"},
	{"BUG: sleeping function called from invalid context at mm/slab.h:494", "kernel-bug"},
	{"BUG: workqueue lockup - pool cpus=3 node=0 flags=0x0 nice=0 stuck for 34s!",
	 "kernel-bug"},
	{"BUG: KASAN: slab-out-of-bounds in foo+0x1a/0x20", "kernel-bug"},
	{"EXT4-fs (sda1): error count since last fsck: 3", "fs-error"},
	{"nvme nvme0: I/O tag 12 (100c) QID 3 timeout, reset controller", "io-error"},
	{"CPU2: Core temperature above threshold, cpu clock throttled", "throttled"},
	{"kworker/u8:3: page allocation failure: order:4, mode:0x40cc0(GFP_KERNEL)",
	 "alloc-failure"},
	{"clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable "
	 "because the skew is too large:",
	 "clock-unstable"},
};

static void lines_of_the_kernel_are_known(void **state)
{
	(void)state;
	bool met[KINDS] = {false};
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const struct cam_event_kind *k = cam_event_kind_of(cam_text_of(known[i].line));
		assert_non_null(k);
		assert_string_equal(k->name, known[i].kind);
		assert_ptr_equal(cam_event_kind_named(cam_text_of(known[i].kind)), k);
		for (size_t j = 0; j < KINDS; j++) {
			if (strcmp(kinds[j].name, k->name) != 0)
				continue;
			assert_int_equal(k->severity, kinds[j].severity);
			met[j] = true;
		}
	}
	for (size_t j = 0; j < KINDS; j++) {
		if (!met[j])
			fail_msg("no line of %s", kinds[j].name);
	}
}

static void other_lines_are_not(void **state)
{
	(void)state;
	static const char *const lines[] = {
		"",
		"systemd[1]: Started Daily apt upgrade.",
		"audit: type=1326 audit(1794762695.433:2560): auid=4294967295",
		"random: crng init done",
		"bond0: (slave eth1): making interface the new active one",
		"sshd[8]: error: Timeout before authentication",
		"e1000e 0000:00:1f.6: The NVM Checksum Is Not Valid",
		"usb 1-1: new high-speed USB device number 2 using xhci_hcd",
		"seconds than more for blocked task ",
		"BUG: soft", /* a line that was cut */
		/* At every boot. */
		"EXT4-fs (sda1): mounted filesystem with ordered data mode. Opts: errors=remount-ro",
		"EXT4-fs (sda1): re-mounted. Opts: errors=remount-ro. Quota mode: none.",
		"nvme nvme0: Shutdown timeout set to 10 seconds",
	};
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_null(cam_event_kind_of(cam_text_of(lines[i])));
	assert_null(cam_event_kind_named(CAM_TEXT("nothing")));
}

/* Else each of them reads the rest of the line: a log's writer could keep the recorder busy. */
static void a_line_that_begins_over_and_over_is_given_up(void **state)
{
	(void)state;
	static const char end[] = "task a blocked for more than 120 seconds";
	char line[512];
	for (unsigned times = 0; times < 64; times++) {
		size_t n = 0;
		for (unsigned i = 0; i < times; i++)
			n += (size_t)snprintf(line + n, sizeof(line) - n, "traps: ");
		snprintf(line + n, sizeof(line) - n, "%s", end);
		const struct cam_event_kind *k = cam_event_kind_of(cam_text_of(line));
		if (times < 4)
			assert_non_null(k);
		if (times > 32)
			assert_null(k);
	}
}

static void severities_have_names(void **state)
{
	(void)state;
	enum cam_severity s;
	for (unsigned i = 0; i < CAM_SEVERITY_MAX; i++) {
		assert_true(cam_severity_parse(cam_text_of(cam_severity_name((enum cam_severity)i)),
					       &s));
		assert_int_equal(s, i);
	}
	assert_true(cam_severity_parse(CAM_TEXT("Error"), &s));
	assert_int_equal(s, CAM_SEVERITY_ERR);
	assert_true(cam_severity_parse(CAM_TEXT("4"), &s));
	assert_int_equal(s, CAM_SEVERITY_WARNING);
	assert_false(cam_severity_parse(CAM_TEXT("8"), &s));
	assert_false(cam_severity_parse(CAM_TEXT("erro"), &s));
	assert_false(cam_severity_parse(CAM_TEXT(""), &s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_the_kernel_are_known),
		cmocka_unit_test(other_lines_are_not),
		cmocka_unit_test(a_line_that_begins_over_and_over_is_given_up),
		cmocka_unit_test(severities_have_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
