// SPDX-License-Identifier: Apache-2.0
/*
 * How far a loop over every bit, byte or call goes at a time: one, and where a sanitizer makes each of them five to ten
 * times slower, seven. Seven is prime to 8 and to the sizes of blocks: every bit of a byte and every place in a block
 * comes up. The build without it has gone through all of them.
 */
#pragma once

#ifndef __has_feature /* gcc */
#define __has_feature(x) 0
#endif
#define EVERY (__has_feature(address_sanitizer) ? 7u : 1u)
