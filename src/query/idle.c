// SPDX-License-Identifier: Apache-2.0
#include "query/idle.h"

/*
 * Functions that wait for work, by the start of their names, so that "mwait_idle_with_hints" and
 * "intel_idle.constprop.0" need no entry of their own. Loops around them (do_idle,
 * cpu_startup_entry) are not here: they also switch to tasks and run queued calls.
 */
static const struct cam_text waits[] = {
	/* the framework and its drivers */
	CAM_TEXT("cpuidle"),
	CAM_TEXT("cpu_idle"),
	CAM_TEXT("intel_idle"),
	CAM_TEXT("acpi_idle"),
	CAM_TEXT("acpi_processor_ffh_cstate_enter"),
	CAM_TEXT("acpi_safe_halt"),
	CAM_TEXT("poll_idle"),
	CAM_TEXT("haltpoll_"),
	/* x86 */
	CAM_TEXT("default_idle"),
	CAM_TEXT("mwait"),
	CAM_TEXT("amd_e400_idle"),
	CAM_TEXT("native_safe_halt"),
	CAM_TEXT("native_halt"),
	CAM_TEXT("pv_native_safe_halt"),
	CAM_TEXT("tdx_safe_halt"),
	CAM_TEXT("arch_cpu_idle"),
	/* guests */
	CAM_TEXT("cpu_bringup_and_idle"),
	CAM_TEXT("xen_safe_halt"),
	CAM_TEXT("xen_hypercall_sched_op"),
	CAM_TEXT("xen_hypercall_vcpu_op"),
	/* arm64, powerpc, s390, mips */
	CAM_TEXT("cpu_do_idle"),
	CAM_TEXT("psci_enter_idle_state"),
	CAM_TEXT("psci_cpu_suspend_enter"),
	CAM_TEXT("snooze_loop"),
	CAM_TEXT("stop_loop"),
	CAM_TEXT("shared_cede_loop"),
	CAM_TEXT("dedicated_cede_loop"),
	CAM_TEXT("pseries_lpar_idle"),
	CAM_TEXT("enabled_wait"),
	CAM_TEXT("r4k_wait"),
};

/* Ways out of waiting: entries of interrupts and exceptions, and what they call first. */
static const struct cam_text ways_out[] = {
	CAM_TEXT("asm_"),	  CAM_TEXT("sysvec_"),	      CAM_TEXT("exc_"),
	CAM_TEXT("do_IRQ"),	  CAM_TEXT("do_softirq"),     CAM_TEXT("__do_softirq"),
	CAM_TEXT("call_softirq"), CAM_TEXT("ret_from_intr"),  CAM_TEXT("xen_evtchn_do_upcall"),
	CAM_TEXT("nmi"),	  CAM_TEXT("end_repeat_nmi"),
};

static bool contains(struct cam_text s, const char *part)
{
	return memmem(s.p, s.n, part, strlen(part)) != NULL;
}

enum cam_idle_step cam_idle_step_of(struct cam_text f)
{
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		if (cam_text_starts(f, waits[i]))
			return CAM_IDLE_ENTERS;
	}
	for (size_t i = 0; i < sizeof(ways_out) / sizeof(ways_out[0]); i++) {
		if (cam_text_starts(f, ways_out[i]))
			return CAM_IDLE_LEAVES;
	}
	/* local_irq_enable() and the like are part of waiting itself. */
	if (contains(f, "interrupt") || (contains(f, "irq") && !contains(f, "local_irq")))
		return CAM_IDLE_LEAVES;
	return CAM_IDLE_NEUTRAL;
}

bool cam_idle_comm(struct cam_text comm)
{
	struct cam_text name = CAM_TEXT("swapper");
	if (!cam_text_starts(comm, name))
		return false;
	return comm.n == name.n || comm.p[name.n] == '/' || comm.p[name.n] == '-';
}
