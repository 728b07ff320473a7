#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# The guest's first process: mounts, modules, then does what the host asks. The host leaves a script in
# the shared directory, says its number on the port, and gets "number status" back; the output is in a file
# beside the script.
/bin/busybox --install -s /bin
export PATH=/bin:/usr/bin:/usr/sbin:/sbin HOME=/root
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs -o mode=1777 tmp /tmp
mount -t tmpfs run /run
mkdir -p /dev/shm /sys/fs/cgroup
mount -t cgroup2 cgroup /sys/fs/cgroup
mount -t debugfs debug /sys/kernel/debug
while read -r module; do
	insmod "/modules/$module" || echo "init: $module did not load"
done </modules/order
mount -t 9p -o trans=virtio,version=9p2000.L,cache=none share /share || echo "init: no share"
ip link set lo up
hostname guest
until [ -c /dev/vport* ]; do # it comes some time after its driver
	sleep 0.05
done
exec 3<>"$(echo /dev/vport*)"
echo "ready 0" >&3
while read -r number <&3; do
	setsid sh "/share/$number.sh" >"/share/$number.out" 2>&1 </dev/null
	echo "$number $?" >&3
done
echo "init: the host is gone"
poweroff -f
