/** service:datetime: the current time in a time zone. */
import { described, object, string } from "@sluice/proto/lib/validation/shape.js";
import { type ServerTool, errorOutput } from "../../agent-loop/tool.ts";

/** @param now returns the time in milliseconds since 1970 */
export const datetime = (now: () => number): ServerTool => ({
  kinds: ["service:datetime"],
  hasEffect: false,
  open({ parameters }) {
    const standard = typeof parameters["timezone"] === "string" ? parameters["timezone"] : "UTC";
    return {
      description:
        "Tells the present date and time. Call it whenever an answer depends on what day or time it is; do not guess. " +
        `Without a timezone it is told for ${standard}.`,
      arguments: object(
        { timezone: described(string(), "IANA name of a time zone, such as Europe/Vienna.") },
        { strict: true },
      ),
      blank: { datetime: "", timezone: standard },
      async run({ timezone = standard }) {
        const zone = String(timezone);
        const text = inZone(now(), zone);
        if (text !== undefined) {
          const item = { datetime: text, timezone: zone };
          return { output: JSON.stringify(item), item };
        }
        const error = `${zone.slice(0, 64)} is no IANA time zone`;
        return { output: errorOutput(error), item: { datetime: "", timezone: zone, error }, failed: true };
      },
      recall({ datetime: text, timezone, error }) {
        const output = typeof error === "string" ? errorOutput(error) : JSON.stringify({ datetime: text, timezone });
        return { args: timezone === standard ? {} : { timezone }, output };
      },
    };
  },
});

/** A time in ISO 8601 with the zone's UTC offset at this time. @returns undefined for an unknown zone */
function inZone(epochMs: number, timeZone: string): string | undefined {
  try {
    const parts = new Intl.DateTimeFormat("en-US", {
      timeZone,
      calendar: "iso8601",
      hourCycle: "h23",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
      timeZoneName: "longOffset",
    }).formatToParts(epochMs);
    const part = (type: Intl.DateTimeFormatPartTypes) => parts.find((each) => each.type === type)?.value ?? "";
    // `GMT` alone means a zero offset; `GMT+05:30` contains the offset.
    const offset = part("timeZoneName").slice("GMT".length) || "+00:00";
    return `${part("year")}-${part("month")}-${part("day")}T${part("hour")}:${part("minute")}:${part("second")}${offset}`;
  } catch {
    return undefined;
  }
}
