/** Converts a batch of turns to a message for each kind of sink. */
import type { ExportSettings } from "@sluice/proto/config/sinks/exports.js";
import type { Message } from "../sinks/post.ts";
import { webhookMessage } from "../sinks/webhook.ts";
import type { ExportedBatch } from "./batch.ts";
import { otlpMessage } from "./otlp.ts";
import { s3Message } from "./s3.ts";
import type { ExportBatch } from "../store/exports/cursors.ts";

/** Maximum number of turns in a message: receivers of webhooks and OTLP often limit bodies to a megabyte. */
export const maxTurns = ({ s3 }: ExportSettings): number => (s3 ? 5_000 : 200);

export async function buildBatch(settings: ExportSettings, exported: ExportedBatch, now: Date): Promise<Message> {
  const { webhook, s3, otlp } = settings;
  if (webhook) return webhookMessage(webhook, batchId(exported.batch), webhookBody(exported), now);
  if (s3) return s3Message(s3, exported, now);
  if (otlp) return otlpMessage(otlp, exported);
  throw new Error("an export without a way to deliver it");
}

/** The id of a batch, which is the same in every repeated delivery. */
const batchId = ({ export: name, workspace_id: workspace, delivered, batch_last: last }: ExportBatch): string =>
  `exp_${name}_${workspace}_${delivered}_${last}`;

const webhookBody = ({ batch, turns }: ExportedBatch): string =>
  JSON.stringify({
    type: "turns.recorded",
    timestamp: batch.batch_at.toISOString(),
    data: { workspace_id: batch.workspace_id, turns },
  });
