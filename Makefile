# SPDX-License-Identifier: Apache-2.0
# The newcomer's commands; the build itself is meson.build.
#
#   make            build/perfcam
#   make run        installs what is missing, builds, records this machine until Ctrl-C
#   make test       installs what is missing, builds twice, runs every test but the long ones
#   make test-long  the tests that take more than a minute each
#   make test-kernels  the recorder on Debian's own kernel, in a virtual machine without KVM
#   make lint       style, static checks, layers, sizes
#   make bench      speed and memory (PEERS=DIR: against the scripts in DIR; see tools/bench), and ten minutes of incidents
#   make incidents  records known incidents and counts how often `perfcam why` is right (as root, an hour)
#   make fuzz       each fuzzer for SECONDS (30)
#   make torture    every call that may fail is made to, in every verb (as root; TORTURE: part of a scenario's name; TORTURE_SECONDS: at most so long each)
#   make soak       threads under a sanitizer, readers beside retention for MINUTES (30), KILLS (1000) of a recorder, RACES (1000) for a store, power CUTS (300) of each file system
#   make coverage   which lines and branches of each room the tests reach
#   make deb        a Debian package, in build/deb
#   make install    to DESTDIR and PREFIX (/usr/local)
#   make clean

BUILD = build
PREFIX ?= /usr/local
DESTDIR ?=
SECONDS ?= 30
MESON = meson
KERNEL_WORKLOADS = spin31 kernel
export INCIDENTS SEED KEEP PEERS BENCH_SAMPLES BENCH_RUNS BENCH_SECONDS BENCH_KINDS BENCH_TAPE BENCH_ONLY BENCH_SOURCES BENCH_REPLAY_SECONDS BENCH_GROWTH BENCH_GROWTH_SECONDS BENCH_FILE_SECONDS BENCH_CHARTS BENCH_PEER_SECONDS BENCH_PEERS BENCH_INCIDENTS TORTURE TORTURE_MOST TORTURE_SECONDS MINUTES KILLS RACES CUTS

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD) perfcam

$(BUILD)/build.ninja:
	@$(MESON) setup $(BUILD) -Dwhole_program=true

run:
	@tools/setup build
	@$(MAKE) --no-print-directory all
	@$(BUILD)/perfcam run --store $(BUILD)/store

test:
	@tools/setup build test programs
	@tools/run-tests

test-long:
	@tools/setup build test package long
	@tools/run-tests --long

# CASES: parts of the names of the cases to run, by default all
test-kernels:
	@tools/setup build kernels
	@$(MAKE) --no-print-directory all
	@ninja -C $(BUILD) tests/system/dump_store tests/kernels/kernels_clocks \
		tests/unit/test_capture_bpf_unwind \
		$(KERNEL_WORKLOADS:%=tests/workloads/workload_%)
	@tests/kernels/run.py $(CASES)

lint:
	@tools/setup build test
	@tools/run-tests --lint

# Each says of its own claims whether they hold; all are run, and the table comes last. An hour and more; in about 40 minutes, without a row less:
#   make bench PEERS=DIR BENCH_SECONDS=20 BENCH_PEER_SECONDS=15 BENCH_GROWTH_SECONDS=5 INCIDENTS=12
BENCH_PARTS = bench bench-record bench-peers bench-replay bench-views bench-page bench-growth bench-incidents
BENCH_WORKLOADS = builds kitchen gaps sleepers
bench: export BENCH_ROWS = $(CURDIR)/$(BUILD)/bench-rows
bench: export BENCH_INCIDENTS = $(CURDIR)/$(BUILD)/bench-incidents.json
bench: all
	@tools/setup test programs
	@rm -f $(BENCH_ROWS) $(BENCH_INCIDENTS)
	@ninja -C $(BUILD) tests/system/dump_store tests/bench/replay tests/bench/rebase tests/incidents/culprit \
		$(BENCH_WORKLOADS:%=tests/workloads/workload_%)
	@stores=$$(mktemp -d -t perfcam-stores-XXXXXX); chmod 755 $$stores; export BENCH_STORES=$$stores/made; trap "rm -rf $$stores" EXIT; \
		failed=0; for part in $(BENCH_PARTS); do \
			begun=$$(date +%s); tools/$$part || failed=1; echo "$$part: $$(($$(date +%s) - begun)) s"; done; \
		tools/bench-table $(BENCH_ROWS) && exit $$failed

incidents: all
	@tools/setup programs
	@ninja -C $(BUILD) tests/incidents/culprit
	@PERFCAM_BIN=$(BUILD)/perfcam tests/incidents/run.py

fuzz:
	@tools/setup build test
	@FUZZ_SECONDS=$(SECONDS) tools/fuzz

torture: all
	@tools/setup test
	@ninja -C $(BUILD) tests/torture/fail_nth tests/torture/fail_alloc.so tests/system/old_windows
	@PERFCAM_BIN=$(BUILD)/perfcam tests/torture/run.py

soak: all
	@tools/setup test long
	@ninja -C $(BUILD) tests/system/old_windows tests/system/dump_store tests/workloads/workload_slots tests/workloads/workload_spin31
	@tools/soak

coverage:
	@tools/setup build test coverage
	@tools/coverage

install: all
	@$(MESON) configure $(BUILD) -Dprefix=$(PREFIX)
	@DESTDIR=$(DESTDIR) $(MESON) install -C $(BUILD)

deb:
	@tools/setup build package
	@tools/make-deb

clean:
	@rm -rf $(BUILD) build-asan build-fuzz build-coverage build-tsan

.PHONY: all run test test-long test-kernels lint bench incidents fuzz torture soak coverage install deb clean
