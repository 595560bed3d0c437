/** Writes a line for each refused call of a client, in the form of the gateway's lines. Processes of Sluice log the refusals of their calls themselves. */
import type { Fault } from "../faults/fault.ts";
import type { Logger } from "../log/log.ts";
import { isServiceToken } from "./caller.ts";
import type { ServiceToken } from "./service-token.ts";

/** @param presented service token of the call */
export type LogRefusal = (path: string, presented: string | null, fault: Fault) => void;

export const refusalLog =
  (log: Pick<Logger, "info">, token: ServiceToken | undefined): LogRefusal =>
  (path, presented, { status, errorType }) => {
    const isOfSluice = token !== undefined && isServiceToken(presented, token);
    if (status < 400 || status > 499 || isOfSluice) return;
    log.info({ method: "POST", route: path, status, error_type: errorType }, "request");
  };
