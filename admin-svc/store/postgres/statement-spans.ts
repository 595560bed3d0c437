/** Traces each SQL statement of a call: its operation and table, but neither its text nor its values. */
import { currentSpan } from "@sluice/proto/lib/tracing/rpc.js";
import type { Tracing } from "@sluice/proto/lib/tracing/span.js";
import {
  AliasNode,
  type CompiledQuery,
  type LogEvent,
  type OperationNode,
  type RootOperationNode,
  TableNode,
} from "kysely";
import { DatabaseError } from "pg";

/**
 * Returns a callback that records a span for a statement. Background statements, such as trimming the policy log,
 * belong to no call and have no span.
 */
export const statementSpans =
  (tracing: Tracing) =>
  ({ level, query, queryDurationMillis, ...event }: LogEvent): void => {
    const parent = currentSpan();
    if (!parent) return;
    const { operation, table } = summaryOf(query);
    const summary = table === undefined ? operation : `${operation} ${table}`;
    const span = tracing.start(summary, {
      kind: "client",
      parent,
      startedAtMs: performance.timeOrigin + performance.now() - queryDurationMillis,
      attributes: {
        "db.system.name": "postgresql",
        "db.operation.name": operation,
        "db.collection.name": table,
        "db.query.summary": summary,
      },
    });
    if (level === "error") span.fail(errorTypeOf("error" in event ? event.error : undefined));
    span.end();
  };

const verb = /\b(select|insert|update|delete|begin|start|commit|rollback)\b/i;

const summaryOf = ({ sql, query }: CompiledQuery): { operation: string; table: string | undefined } => ({
  operation: verb.exec(sql)?.[1]?.toLowerCase() ?? "statement",
  table: nameOf(targetOf(query)),
});

/** The table of a statement; undefined for a statement written as text. */
function targetOf(query: RootOperationNode): OperationNode | undefined {
  switch (query.kind) {
    case "SelectQueryNode":
    case "DeleteQueryNode":
      return query.from?.froms[0];
    case "InsertQueryNode":
      return query.into;
    case "UpdateQueryNode":
      return query.table;
    default:
      return undefined;
  }
}

function nameOf(node: OperationNode | undefined): string | undefined {
  if (node && AliasNode.is(node)) return nameOf(node.node);
  return node && TableNode.is(node) ? node.table.identifier.name : undefined;
}

/** SQLSTATE of a database error; `connection_lost` for any other error. */
const errorTypeOf = (error: unknown): string =>
  (error instanceof DatabaseError ? error.code : undefined) ?? "connection_lost";
