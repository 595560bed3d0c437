/** POST /guardrails/try: a guardrail and a text, and the result for the text. */
import { errorMetadata } from "../operations/errors.ts";
import { stage } from "../response/service-metadata.ts";
import {
  type ObjectRules,
  array,
  described,
  integer,
  named,
  nullable,
  object,
  string,
  stringOr,
  word,
} from "../../lib/validation/shape.ts";
import { decisions, filterActions } from "../../lib/policy/guardrail-words.ts";
import { guardrailSettings } from "../records/guardrails.ts";

/** Maximum UTF-16 units of all pieces together. */
export const maxTrialLength = 262_144;

const addLength: NonNullable<ObjectRules["also"]> = ({ pieces }, _path, problems) => {
  if (!Array.isArray(pieces)) return;
  const length = pieces.reduce<number>((sum, piece) => sum + (typeof piece === "string" ? piece.length : 0), 0);
  if (length > maxTrialLength) problems.add("text", `at most ${maxTrialLength} UTF-16 units in all pieces together`);
};

const piece = string({ max: maxTrialLength });
const pieces = array(piece, { min: 1, max: 10_000, entry: "piece" });
const side = word("input", "output");

/** The trial in the form checked by inference-svc. */
export const trialPieces = object({ side, pieces }, { required: ["pieces"], also: addLength });

const eitherOne: NonNullable<ObjectRules["also"]> = ({ guardrail_id: id, guardrail }, _path, problems) => {
  if ((id === undefined) === (guardrail === undefined))
    problems.add("guardrail", "required, or guardrail_id in its place");
};

export const trialRequest = named(
  "GuardrailTrial",
  object(
    {
      guardrail_id: described(string({ min: 1, max: 64 }), "A guardrail of the workspace."),
      guardrail: described(
        object(guardrailSettings.fields, { strict: true }),
        "Settings of a guardrail that need not exist, as in `POST /guardrails`; the name may be left out.",
      ),
      side: described(side, "Whether the text is that of a request (`input`, when absent) or of an answer (`output`)."),
      text: described(
        stringOr(piece, pieces, "must be a string or an array of strings"),
        `The text, at most ${maxTrialLength} UTF-16 units. Of an answer it may be an array, whose strings are the pieces of a stream.`,
      ),
    },
    { required: ["text"], strict: true, also: eitherOne, description: "Either `guardrail_id` or `guardrail`." },
  ),
);

const place = described(integer({ min: 0 }), "Code points from the beginning of the text.");

const match = object(
  {
    rule: described(string(), "The rule: its label, else its pattern or the slug of the detector."),
    action: described(word(...filterActions.all), "What the rule does."),
    engine: described(string(), "What found it, such as `regex`."),
    start: place,
    end: place,
  },
  { required: ["rule", "action", "engine", "start", "end"], description: "A place in the text where a rule matched." },
);

export const trialResult = named(
  "GuardrailTrialResult",
  object(
    {
      decision: described(
        word(...Object.keys(decisions)),
        "The gravest of what the guardrail does to the text; `error` where it could not scan and refuses. In `audit` nothing is done.",
      ),
      text: described(
        nullable(string()),
        "The text as the model or the client gets it; of a blocked answer what its client had got until then. Null: nothing.",
      ),
      error: described(
        nullable(
          object({ code: integer(), message: string(), metadata: errorMetadata }, { required: ["code", "message"] }),
        ),
        "The error that the request would be answered with; null for none, and for an answer that is cut.",
      ),
      matches: described(
        array(match),
        "Where rules matched, in the order of the text. Services and judges read what the patterns have left of it.",
      ),
      pipeline: described(array(stage), "The stages that a receipt would have, those of judges among them."),
    },
    { required: ["decision", "text", "error", "matches", "pipeline"] },
  ),
);

export const trialAnswer = named("GuardrailTrialAnswer", object({ data: trialResult }, { required: ["data"] }));
