/** Parts shared by the deliveries to sinks. */
import type { SinkSettings } from "@sluice/proto/runtime/house/sinks/sinks.js";
import type { Logger } from "@sluice/proto/runtime/log/log.js";
import type { Registry } from "@sluice/proto/runtime/metrics.js";
import type { Kysely } from "kysely";
import type { Database } from "../store/database.ts";

export interface SinkParts {
  readonly database: Kysely<Database>;
  /** The settings in force. */
  readonly settings: () => SinkSettings;
  readonly now: () => Date;
  readonly log: Logger;
  readonly registry: Registry;
}
