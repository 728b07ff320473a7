// SPDX-License-Identifier: Apache-2.0
/* Student's t distribution, with any positive number of degrees of freedom. Pure. */
#pragma once

/* How likely |t| or more is by chance: 1 at 0, towards 0 far out. */
double cam_student_p(double t, double freedom);
/* The t that is exceeded on both sides together with that probability: cam_student_p() backwards. */
double cam_student_t(double p, double freedom);
