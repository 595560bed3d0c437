/** Formats a batch of turns as the JSON of `GET /generations`. */
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import type { ExportBatch } from "../store/exports/cursors.ts";

export interface ExportedBatch {
  readonly batch: ExportBatch;
  readonly turns: readonly JsonObject[];
}
