// SPDX-License-Identifier: Apache-2.0
/* CRC-32C (Castagnoli), as in iSCSI and ext4; by the CPU's instruction where it has one. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Start with crc = 0; feed the result back in to go on over more bytes. */
uint32_t cam_crc32c(uint32_t crc, const void *bytes, size_t n);
