/**
 * The images. Where podman runs containers it builds them, makes the pods of the overlay for development of them, and the first curl of
 * the README is answered there; elsewhere the same commands run in empty folders. The run says which of the two it was.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe } from "@jest/globals";
import { inContainers } from "./images/in-containers.ts";
import { inFolders } from "./images/in-folders.ts";
import { Podman } from "./images/podman.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-test-images-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const podman = await Podman.open(folder);
const form = podman instanceof Podman ? "in containers of podman" : `in empty folders, as ${podman}`;
console.log(`images are built and run ${form}`);
describe(`images ${form}`, () => (podman instanceof Podman ? inContainers(folder, podman) : inFolders(folder)));
