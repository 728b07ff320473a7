// SPDX-License-Identifier: Apache-2.0
/* For late.c. */
#include "burn.h"

KEEP void late_work(uint64_t ns);

KEEP void late_work(uint64_t ns)
{
	burn_for(ns);
}
