/** Dependencies of the gRPC services. */
import type { ConfigRefusal } from "@sluice/proto/gen/sluice/common/v1/configuration_pb.js";
import type { CaptureSettings } from "@sluice/proto/config/sinks/capture.js";
import type { SinkSettings } from "@sluice/proto/config/sinks/sinks.js";
import type { ServiceToken } from "@sluice/proto/lib/rpc/service-token.js";
import type { Kysely } from "kysely";
import type { Alerts } from "../sinks/alerts.ts";
import type { Database } from "../store/database.ts";
import type { EndpointFeed } from "./endpoint-feed.ts";
import type { NetworkRefusals } from "./network-refusals.ts";
import type { PolicyFeed } from "./policy-feed.ts";
import type { Reports } from "./reports/reports.ts";
import type { UsageFolder } from "./usage-folder.ts";

export interface Deps {
  /** Database connections for resolving keys. */
  readonly resolution: Kysely<Database>;
  /** Database connections for administrative reads of single records. */
  readonly reads: Kysely<Database>;
  readonly reports: Reports;
  readonly writes: Kysely<Database>;
  /** Database connections for changes of many keys at once. */
  readonly bulkWrites: Kysely<Database>;
  readonly networkRefusals: NetworkRefusals;
  readonly policy: PolicyFeed;
  readonly endpoints: EndpointFeed;
  readonly folder: UsageFolder;
  readonly alerts: Alerts;
  /** Current sinks of the configuration file. */
  readonly sinks: () => SinkSettings;
  /** Current settings of content capture; undefined when nothing is captured. */
  readonly capture: () => CaptureSettings | undefined;
  /** The last change of the configuration file that was refused. */
  readonly configRefusal: () => ConfigRefusal | undefined;
  readonly serviceToken: ServiceToken;
}
