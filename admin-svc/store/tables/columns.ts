/** Types of columns shared by several tables. */
import type { ColumnType } from "kysely";

/** Written by the database only. */
export type GeneratedTimestamp = ColumnType<Date, never, never>;

/** A bigint arrives as text, because a JavaScript number would round it. */
export type BigInteger = ColumnType<string, bigint, bigint>;
