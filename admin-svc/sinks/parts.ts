/** Dependencies shared by the deliveries of alerts and exports. */
import type { SinkSettings } from "@sluice/proto/config/sinks/sinks.js";
import type { Logger } from "@sluice/proto/lib/log/log.js";
import type { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import type { Kysely } from "kysely";
import type { Database } from "../store/database.ts";

export interface SinkDeps {
  readonly database: Kysely<Database>;
  /** Current settings of the configuration file. */
  readonly settings: () => SinkSettings;
  readonly now: () => Date;
  readonly log: Logger;
  readonly registry: Registry;
}
