// SPDX-License-Identifier: Apache-2.0
/*
 * A window closes the file it was opened on. This hands it a stand-in for reading, which closes
 * nothing: the real file stays open for the next reader.
 */
#pragma once
#include "store/io.h"

/* `real` must outlive *out. -ENOMEM. */
int cam_file_borrow(struct cam_file *real, struct cam_file **out);
