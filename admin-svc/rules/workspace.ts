/** What a workspace may be made of. */
import { recordName } from "@sluice/proto/contract/records.js";
import { checked } from "@sluice/proto/runtime/validation/problems.js";

/** What is absent stays as it is. */
export interface WorkspaceSettings {
  /** Unique. */
  readonly name?: string;
}

/** @throws Fault INVALID_REQUEST with every problem */
export function checkWorkspaceSettings({ name }: WorkspaceSettings): void {
  checked((problems) => {
    if (name !== undefined) recordName.check(name, "name", problems);
  });
}
