/** computer and computer_use_preview: screen actions, carried out by the client and answered with a screenshot. */
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { array, described, integer, nullable, object, string, word } from "@sluice/proto/lib/validation/shape.js";
import type { ClientTool, OpenClientTool } from "./client-tool.ts";

/** Fields of each screen action: required ones, and values for absent ones. */
const actions: Readonly<Record<string, { readonly needed: readonly string[]; readonly standard?: JsonObject }>> = {
  click: { needed: ["x", "y"], standard: { button: "left" } },
  double_click: { needed: ["x", "y"] },
  drag: { needed: ["path"] },
  keypress: { needed: ["keys"] },
  move: { needed: ["x", "y"] },
  screenshot: { needed: [] },
  scroll: { needed: ["x", "y"], standard: { scroll_x: 0, scroll_y: 0 } },
  type: { needed: ["text"] },
  wait: { needed: [] },
};

const [firstAction = "", ...otherActions] = Object.keys(actions);
const pixels = nullable(integer());
const point = object({ x: integer(), y: integer() }, { required: ["x", "y"] });

const action = object(
  {
    type: word(firstAction, ...otherActions),
    x: described(pixels, "Of click, double_click, move and scroll: pixels from the left."),
    y: described(pixels, "Of the same: pixels from the top."),
    button: described(nullable(word("left", "right", "wheel", "back", "forward")), "Of click; left when absent."),
    path: described(nullable(array(point, { min: 2, entry: "point" })), "Of drag: the points on the way."),
    keys: described(
      nullable(array(string(), { min: 1, entry: "key" })),
      "Of keypress: the keys that are pressed together.",
    ),
    scroll_x: described(pixels, "Of scroll: pixels to the right."),
    scroll_y: described(pixels, "Of scroll: pixels down."),
    text: described(nullable(string()), "Of type: the text."),
  },
  {
    required: ["type"],
    also: (value, path, problems) => {
      for (const field of actions[String(value["type"])]?.needed ?? []) {
        if (value[field] === undefined || value[field] === null)
          problems.add(`${path && `${path}.`}${field}`, "required");
      }
    },
  },
);

/** Keeps only the fields of the action itself: models also fill in fields of other actions. */
function pickFields(given: JsonObject): JsonObject {
  const { needed, standard = {} } = actions[String(given["type"])] ?? { needed: [] };
  const picked: Record<string, unknown> = { type: given["type"] };
  for (const field of needed) picked[field] = given[field];
  for (const [field, value] of Object.entries(standard)) picked[field] = given[field] ?? value;
  return picked;
}

const description =
  "Works on a computer by mouse and keyboard; the output is a screenshot. Take a screenshot first when the screen is not known.";

const checks = { pending_safety_checks: [] };

const shared = {
  name: "computer",
  callType: "computer_call",
  outputType: "computer_call_output",
  idPrefix: "cu_",
} as const;

export const computer: ClientTool = {
  ...shared,
  kinds: ["computer"],
  open: (): OpenClientTool => ({
    description,
    arguments: object(
      {
        actions: described(
          array(action, { min: 1, entry: "action" }),
          "Actions, which are carried out one after another.",
        ),
      },
      { required: ["actions"] },
    ),
    toFields: ({ actions: given }) => ({ actions: (given as readonly JsonObject[]).map(pickFields), ...checks }),
  }),
};

export const computerUsePreview: ClientTool = {
  ...shared,
  kinds: ["computer_use_preview"],
  open: ({ display_width: width, display_height: height, environment }): OpenClientTool => ({
    description: `${description} The screen has ${String(width)} by ${String(height)} pixels; the environment is ${String(environment)}.`,
    arguments: action,
    toFields: (args) => ({ action: pickFields(args), ...checks }),
  }),
};
