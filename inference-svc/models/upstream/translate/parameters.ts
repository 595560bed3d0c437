/** Writes the parameters of a request in the formats of providers, by the table of parameters in proto/contract. */
import {
  type Parameter,
  type ParameterName,
  type ParameterValue,
  parameterList,
} from "@sluice/proto/contract/request/parameters.js";
import type { TurnRequest } from "../../../turn/request.ts";
import type { OnDropped, Target } from "../dialect.ts";
import { supportsParameter } from "./context.ts";

/** Where a parameter stands in a request, for rules that need more than its value. */
interface Place {
  readonly path: ParameterName;
  readonly target: Target;
  readonly onDropped: OnDropped;
}

/** A parameter that has a limited range of values in a format. */
interface Fitted<Value> {
  readonly name: string;
  /** @returns the value to send; undefined to leave the parameter out. Reports what is changed or left out */
  fit(value: Value, place: Place): unknown;
}

/** Marks a parameter the dialect writes and reports elsewhere, because it depends on other fields. */
export const writtenElsewhere = Symbol("elsewhere");

/** A parameter's name in a format, its name with limits, or `writtenElsewhere`. */
type Taken<Value> = string | Fitted<Value> | typeof writtenElsewhere;

type TakenParameters = { readonly [Name in ParameterName]?: Taken<ParameterValue<Name>> };

/** Receives the parameters to send; a value of undefined is left out. */
interface ParameterSink {
  add(name: string, value: unknown): void;
}

/** Collects parameters as the members of an object. */
export class ParameterObject implements ParameterSink {
  readonly members: Record<string, unknown> = {};

  add(name: string, value: unknown): void {
    if (value !== undefined) this.members[name] = value;
  }
}

export const noField = "the format has no field for it";

interface FormatRow extends Pick<Parameter, "field"> {
  readonly path: ParameterName;
  /** Name of the parameter in the format; undefined when the format lacks it. */
  readonly sentName: string | undefined;
  readonly fit: Fitted<unknown>["fit"] | undefined;
}

/** Writes the parameters a format has, and reports all others. */
export class FormatParameters {
  readonly #rows: readonly FormatRow[];
  readonly #reason: string;

  /** @param taken parameters the format has @param reason why all others are left out */
  constructor(taken: TakenParameters, reason = noField) {
    this.#rows = parameterList.flatMap(({ name: path, field }): readonly FormatRow[] => {
      const how: Taken<unknown> | undefined = taken[path];
      if (how === writtenElsewhere) return [];
      const { name: sentName, fit } = typeof how === "string" ? { name: how } : { name: undefined, ...how };
      return [{ path, field, sentName, fit }];
    });
    this.#reason = reason;
  }

  write(request: TurnRequest, target: Target, onDropped: OnDropped, body: ParameterSink): void {
    for (let index = 0; index < this.#rows.length; index++) {
      const { path, field, sentName, fit } = this.#rows[index]!;
      const value: unknown = request[field];
      if (value === undefined) continue;
      if (sentName !== undefined) body.add(sentName, fit ? fit(value, { path, target, onDropped }) : value);
      else if (target.passes?.has(path) === true) body.add(path, value);
      else onDropped(path, this.#reason);
    }
  }
}

/** A parameter left out unless the endpoint is known to support it. */
export const whereSupported = (name: string): Fitted<unknown> => ({
  name,
  fit: (value, { path, target, onDropped }) => {
    if (supportsParameter(target, path)) return value;
    onDropped(path, "the endpoint does not support it");
    return undefined;
  },
});

/** A number moved to the nearest allowed value, because the provider answers 400 to others. */
export const clampedTo = (name: string, min: number, max: number): Fitted<number> => ({
  name,
  fit: (value, { path, onDropped }) => {
    if (value >= min && value <= max) return value;
    const [sent, limit] = value > max ? [max, "maximum"] : [min, "minimum"];
    onDropped(path, `sent as ${sent}, the ${limit}`);
    return sent;
  },
});

/** Stop sequences, of which only as many are sent as the provider takes. */
export const firstStops = (name: string, max: number): Fitted<readonly string[]> => ({
  name,
  fit: (stop, { path, onDropped }) => {
    if (stop.length <= max) return stop;
    onDropped(path, `only the first ${max} are sent, the provider's maximum`);
    return stop.slice(0, max);
  },
});

/** Every parameter under its own name, for servers that ignore unknown names. */
export const allParameters = Object.fromEntries(parameterList.map(({ name }) => [name, name])) as Readonly<
  Record<ParameterName, string>
>;

/** Every parameter under its own name; rare ones are sent only if the endpoint is known to support them. */
export const commonParameters = Object.fromEntries(
  parameterList.map(({ name, isRare }) => [name, isRare ? whereSupported(name) : name]),
) as TakenParameters;
