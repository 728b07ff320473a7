// SPDX-License-Identifier: Apache-2.0
import { App } from "./app";

new App().start();
