/** What Sluice reports about its changes to a request, in the receipt of the answer and in headers. */
import { isEventStream, readEvents } from "./frames.ts";
import { type JsonRecord, isJsonRecord, jsonRecord, jsonRecords, parseJson, textOrEmpty } from "./readers/json.ts";

export interface ReportedChanges {
  /** Paths of fields, such as `tools.0.strict`. */
  readonly paths: readonly string[];
  /** The complete report as text. */
  readonly text: string;
}

export function readReportedChanges(body: string, headers: Headers): ReportedChanges {
  const events = isEventStream(body) ? readEvents(body).map(({ data }) => parseJson(data)) : [parseJson(body)];
  const receipts = events.map(receiptOf).filter((receipt) => receipt !== undefined);
  const params = jsonRecord(receipts.at(-1)?.["params"]);
  const unknown = jsonRecords(params["unknown_fields"]).map(({ name }) => textOrEmpty(name));
  const warnings = [headers.get("x-sluice-warning"), headers.get("x-sluice-ignored-fields")].filter(
    (text) => text !== null,
  );
  return {
    paths: [...jsonRecords(params["not_sent"]).map(({ path }) => textOrEmpty(path)), ...unknown],
    text: [JSON.stringify(params), ...warnings].join("\n"),
  };
}

/** The receipt is in the answer, or in the object of a stream's last event. */
function receiptOf(event: unknown): JsonRecord | undefined {
  if (!isJsonRecord(event)) return undefined;
  const holders = [event, jsonRecord(event["response"]), jsonRecord(event["message"])];
  return holders.map((holder) => holder["service_metadata"]).find(isJsonRecord);
}
