/**
 * The scalar parameters of a request, each described once: sampling, and the end of the answer. A row defines the check at every door and in RunTurn, the
 * reading of the body, the field of the checked request, the name in `supported_parameters` and in public model lists, and the entry in `not_sent` for
 * provider formats without the parameter. CONTRIBUTING.md has the recipe for a new parameter.
 */
import type { RunTurnRequest } from "../../gen/sluice/inference/v1/turn_pb.ts";
import {
  type Shape,
  array,
  described,
  integer,
  nullable,
  number,
  string,
  unsetByNull,
} from "../../lib/validation/shape.ts";
import { logitBias, seed, stop } from "./extensions.ts";

/** Conversion between the JSON value of a parameter, its field of RunTurnRequest, and its value in a checked request. */
interface Form<Json, Field, Value> {
  toField(json: Json): Field;
  /** @returns undefined for an unset field */
  fromField(field: Field | undefined): Value | undefined;
}

const real: Form<number, number, number> = { toField: (value) => value, fromField: (value) => value };

const whole: Form<number, number, number> = {
  // Makes 0 of -0, which protobuf would write as a negative number.
  toField: (value) => value + 0,
  fromField: (value) => value,
};

const long: Form<number, bigint, number> = {
  toField: BigInt,
  fromField: (value) => (value === undefined ? undefined : Number(value)),
};

const texts: Form<string | string[], string[], readonly string[]> = {
  toField: (value) => (typeof value === "string" ? [value] : value),
  fromField: (value) => (value?.length ? value : undefined),
};

const weights: Form<Record<string, number>, Record<string, number>, Readonly<Record<string, number>>> = {
  toField: (value) => value,
  fromField: (value) => {
    for (const _ in value) return value;
    return undefined;
  },
};

/** The field of a parameter at POST /messages. */
interface MessagesField<Name extends string> {
  readonly name: Name;
  /** The shape of POST /responses when absent. */
  readonly shape?: Shape;
  /** Value equivalent to an absent one. */
  readonly unset?: number;
}

interface Row<Json, Field, Value, Chat extends string, Messages extends string> {
  readonly form: Form<Json, Field, Value>;
  /** Shape and limits at POST /responses, at POST /chat/completions and in RunTurn. */
  readonly shape: Shape;
  /** Names at POST /chat/completions; the first set field counts. */
  readonly chat: readonly Chat[];
  /** Absent when POST /messages does not have the parameter. */
  readonly messages?: MessagesField<Messages>;
  /** Names in public model lists; those of `chat` when absent. */
  readonly listed?: readonly string[];
  /** True when every endpoint takes the parameter, regardless of `supported_parameters`. */
  readonly isUniversal?: true;
  /** True when most servers answer 400 to the parameter: it is sent only if `supported_parameters` or `passes` names it. */
  readonly isRare?: true;
}

const row = <Json, Field, Value, const Chat extends string, const Messages extends string = never>(
  settings: Row<Json, Field, Value, Chat, Messages>,
) => settings;

const sampler = (min: number, max: number, description: string): Shape =>
  described(nullable(number({ min, max })), description);

/** Clients of the Messages format write this for an unset sampling limit. */
const unsetLimit = -1;

const orMinusOne = (shape: Shape): Shape => ({
  check: (value, path, problems, or) => {
    if (value !== unsetLimit) shape.check(value, path, problems, or);
  },
  schema: (components) => ({ anyOf: [shape.schema(components), { const: unsetLimit }] }),
});

const answerTokens = nullable(integer({ min: 1 }));

/** The table: one row for each parameter, under its name at POST /responses. */
export const parameters = {
  max_output_tokens: row({
    form: whole,
    shape: described(answerTokens, "Tokens of the answer, reasoning among them."),
    chat: ["max_completion_tokens", "max_tokens"],
    listed: ["max_tokens", "max_completion_tokens"],
    messages: {
      name: "max_tokens",
      shape: described(
        answerTokens,
        "Tokens of the answer, reasoning among them; lowered to the maximum of the model that serves.",
      ),
    },
    isUniversal: true,
  }),
  temperature: row({
    form: real,
    shape: sampler(0, 2, "Sampling temperature."),
    chat: ["temperature"],
    messages: { name: "temperature", shape: sampler(0, 1, "Sampling temperature.") },
  }),
  top_p: row({
    form: real,
    shape: sampler(0, 1, "Share of probability from which tokens are drawn."),
    chat: ["top_p"],
    messages: {
      name: "top_p",
      shape: described(
        nullable(orMinusOne(number({ min: 0, max: 1 }))),
        "Share of probability from which tokens are drawn; -1 counts as absent.",
      ),
      unset: unsetLimit,
    },
  }),
  top_k: row({
    form: whole,
    shape: described(unsetByNull(integer({ min: 0 })), "Number of tokens from which is drawn."),
    chat: ["top_k"],
    messages: {
      name: "top_k",
      shape: described(
        nullable(orMinusOne(integer({ min: 0 }))),
        "Number of tokens from which is drawn; -1 counts as absent.",
      ),
      unset: unsetLimit,
    },
  }),
  min_p: row({
    form: real,
    shape: sampler(
      0,
      1,
      "Tokens are drawn only if their probability is at least this share of that of the likeliest token.",
    ),
    chat: ["min_p"],
    messages: { name: "min_p" },
    isRare: true,
  }),
  top_a: row({
    form: real,
    shape: sampler(0, 1, "Like min_p, with the square of the probability of the likeliest token."),
    chat: ["top_a"],
    messages: { name: "top_a" },
    isRare: true,
  }),
  repetition_penalty: row({
    form: real,
    shape: sampler(0, 2, "Makes tokens of the conversation less likely; 1 leaves them as they are."),
    chat: ["repetition_penalty"],
    messages: { name: "repetition_penalty" },
    isRare: true,
  }),
  frequency_penalty: row({
    form: real,
    shape: sampler(-2, 2, "Makes tokens less likely the more often they came up."),
    chat: ["frequency_penalty"],
  }),
  presence_penalty: row({
    form: real,
    shape: sampler(-2, 2, "Makes tokens less likely once they came up."),
    chat: ["presence_penalty"],
  }),
  top_logprobs: row({
    form: whole,
    shape: described(
      nullable(integer({ min: 0, max: 20 })),
      "Number of alternatives to each token that are listed with their probabilities.",
    ),
    chat: ["top_logprobs"],
    listed: ["logprobs", "top_logprobs"],
  }),
  stop: row({
    form: texts,
    shape: described(
      nullable(stop),
      "Texts before which the answer ends; left out where the provider has no such setting.",
    ),
    chat: ["stop"],
    messages: {
      name: "stop_sequences",
      shape: described(
        nullable(array(string({ min: 1, max: 1_024 }), { max: 16 })),
        "Texts before which the answer ends.",
      ),
    },
  }),
  seed: row({
    form: long,
    shape: described(nullable(seed), "Makes sampling repeatable at some providers."),
    chat: ["seed"],
  }),
  logit_bias: row({
    form: weights,
    shape: described(nullable(logitBias), "Change of a token's likelihood by the token's id."),
    chat: ["logit_bias"],
  }),
} as const;

type Rows = typeof parameters;

/** Name of a parameter at POST /responses and in `not_sent`. */
export type ParameterName = keyof Rows;

type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name;

/** Field of RunTurnRequest and of a checked request. The compiler refuses a row without a field in turn.proto. */
export type ParameterField = CamelCase<ParameterName> & keyof RunTurnRequest;

/** Value of a parameter in a checked request. */
export type ParameterValue<Name extends ParameterName> = NonNullable<ReturnType<Rows[Name]["form"]["fromField"]>>;
type JsonOf<Name extends ParameterName> = Parameters<Rows[Name]["form"]["toField"]>[0];
type ChatName<Name extends ParameterName> = Rows[Name]["chat"][number];

/** The parameters of a checked request. An absent field is unset. */
export type ParameterValues = { readonly [Name in ParameterName as CamelCase<Name>]?: ParameterValue<Name> };

/** The parameters in the bodies of POST /responses and POST /chat/completions, by their names there. */
export type BodyParameters = {
  readonly [Name in ParameterName as Name | ChatName<Name>]: JsonOf<Name> | null | undefined;
};

/** A row with the names derived from its own. */
export interface Parameter extends Omit<Row<never, unknown, unknown, string, string>, "form"> {
  readonly name: ParameterName;
  readonly field: ParameterField;
  readonly form: Form<never, unknown, unknown>;
}

const toField = (name: string) => name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** All rows in the order of the table. */
export const parameterList = Object.entries(parameters).map(
  ([name, row]) => ({ ...row, name, field: toField(name) }) as unknown as Parameter,
);

/** Shapes of the fields of POST /responses. */
export const responsesParameters = Object.fromEntries(
  parameterList.map(({ name, shape }) => [name, shape]),
) as Readonly<Record<ParameterName, Shape>>;

/** Shapes of the fields of POST /chat/completions, where clients write unset settings as null. */
export const chatParameters = Object.fromEntries(
  parameterList.flatMap(({ chat, shape }) => chat.map((name) => [name, nullable(shape)])),
) as Readonly<Record<ChatName<ParameterName>, Shape>>;

/** Shapes of the fields of POST /messages. */
export const messagesParameters = Object.fromEntries(
  parameterList.flatMap(({ shape, messages }) => (messages ? [[messages.name, messages.shape ?? shape]] : [])),
) as Readonly<Record<string, Shape>>;
