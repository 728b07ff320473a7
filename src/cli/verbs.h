// SPDX-License-Identifier: Apache-2.0
/* The verbs; each in its own cmd_<verb>.c. */
#pragma once
#include "cli/options.h"

int cam_cmd_at(const struct cam_verb *verb, int argc, char **argv);
int cam_cmd_capsule(const struct cam_verb *verb, int argc, char **argv);
int cam_cmd_config(const struct cam_verb *verb, int argc, char **argv);
int cam_cmd_diff(const struct cam_verb *verb, int argc, char **argv);
int cam_cmd_doctor(const struct cam_verb *verb, int argc, char **argv);
int cam_cmd_events(const struct cam_verb *verb, int argc, char **argv);
int cam_cmd_export(const struct cam_verb *verb, int argc, char **argv);
int cam_cmd_flame(const struct cam_verb *verb, int argc, char **argv);
int cam_cmd_heatmap(const struct cam_verb *verb, int argc, char **argv);
int cam_cmd_helper(const struct cam_verb *verb, int argc, char **argv);
int cam_cmd_import(const struct cam_verb *verb, int argc, char **argv);
int cam_cmd_ls(const struct cam_verb *verb, int argc, char **argv);
int cam_cmd_mark(const struct cam_verb *verb, int argc, char **argv);
int cam_cmd_moments(const struct cam_verb *verb, int argc, char **argv);
int cam_cmd_pin(const struct cam_verb *verb, int argc, char **argv);
int cam_cmd_snapshot(const struct cam_verb *verb, int argc, char **argv);
int cam_cmd_status(const struct cam_verb *verb, int argc, char **argv);
int cam_cmd_top(const struct cam_verb *verb, int argc, char **argv);
int cam_cmd_unpin(const struct cam_verb *verb, int argc, char **argv);
int cam_cmd_record(const struct cam_verb *verb, int argc, char **argv);
int cam_cmd_resymbolise(const struct cam_verb *verb, int argc, char **argv);
int cam_cmd_report(const struct cam_verb *verb, int argc, char **argv);
int cam_cmd_run(const struct cam_verb *verb, int argc, char **argv);
int cam_cmd_script(const struct cam_verb *verb, int argc, char **argv);
int cam_cmd_search(const struct cam_verb *verb, int argc, char **argv);
int cam_cmd_serve(const struct cam_verb *verb, int argc, char **argv);
int cam_cmd_verify(const struct cam_verb *verb, int argc, char **argv);
int cam_cmd_why(const struct cam_verb *verb, int argc, char **argv);
