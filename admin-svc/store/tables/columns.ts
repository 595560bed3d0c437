/** Column types shared by several tables. */
import type { ColumnType } from "kysely";

/** A time that only the database writes. */
export type GeneratedTimestamp = ColumnType<Date, never, never>;

/** A bigint, which the driver returns as text, because a JavaScript number would round it. */
export type BigInteger = ColumnType<string, bigint, bigint>;
