/** The images, in the order in which their services start. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../support/processes.ts";
import { type ImageSettings, historyOf, parseDockerfile, settingsOf } from "./dockerfile.ts";

export const targets = ["admin-svc", "inference-svc", "gateway"] as const;
export type Target = (typeof targets)[number];

/** Maximum bytes on top of the base image: half as much again as the largest image takes. */
export const maxImageBytes = 30_000_000;

export const stages = parseDockerfile(readFileSync(join(root, "deploy/images/Dockerfile"), "utf8"));
export const imageOf = (target: Target | "first-look"): ImageSettings => settingsOf(historyOf(stages, target));
