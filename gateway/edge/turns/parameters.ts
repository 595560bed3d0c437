/** Reads the parameters of a body into a turn, by the table in the contract. */
import { type BodyParameters, type Parameter, parameterList } from "@sluice/proto/contract/request/parameters.js";
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";

interface DoorField {
  readonly row: Parameter;
  /** Names of the parameter in the body; the first one with a value counts. */
  readonly names: readonly string[];
  /** Value that means the same as an absent field. */
  readonly unset?: number | undefined;
}

const fieldsAt = {
  responses: (row: Parameter): DoorField => ({ row, names: [row.name] }),
  chat: (row: Parameter): DoorField => ({ row, names: row.chat }),
  messages: (row: Parameter): DoorField =>
    row.messages ? { row, names: [row.messages.name], unset: row.messages.unset } : { row, names: [] },
};

/** The parameters of one door's requests. */
class DoorParameters {
  readonly #fields: readonly DoorField[];
  /** Names of parameters at the door, by their different names in a turn. */
  readonly renamed: Readonly<Record<string, string>>;

  constructor(door: keyof typeof fieldsAt) {
    this.#fields = parameterList.map(fieldsAt[door]);
    this.renamed = Object.fromEntries(
      this.#fields.flatMap(({ row: { name }, names: [first = name] }) => (first === name ? [] : [[name, first]])),
    );
  }

  /** @param body fields of the body after the check of their shape */
  read(body: object, request: RunTurnRequest): void {
    const byName = body as Readonly<Record<string, unknown>>;
    const byField = request as unknown as Record<string, unknown>;
    for (const { row, names, unset } of this.#fields) {
      for (const name of names) {
        const value = byName[name];
        if (value === undefined || value === null || value === unset) continue;
        byField[row.field] = row.form.toField(value as never);
        break;
      }
    }
  }
}

/** The parameters of each door. */
export const parametersAt = {
  responses: new DoorParameters("responses"),
  chat: new DoorParameters("chat"),
  messages: new DoorParameters("messages"),
};

const absentNames = Object.fromEntries(
  parameterList.flatMap(({ name, chat }) => [name, ...chat]).map((name) => [name, undefined]),
);

/** Class whose instances have every parameter of a body, unset. */
export const UnsetParameters = function setNone(this: object): void {
  Object.assign(this, absentNames);
} as unknown as new () => BodyParameters;
