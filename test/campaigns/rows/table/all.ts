/** All rows, in the order of the table. */
import type { Row } from "../row.ts";
import { answerRows } from "./answers.ts";
import { itemGaps } from "./gaps-items.ts";
import { modelToolGaps } from "./gaps-models.ts";
import { pluginGaps } from "./gaps-plugins.ts";
import { requestGaps } from "./gaps-requests.ts";
import { sandboxGaps } from "./gaps-sandbox.ts";
import { toolGaps } from "./gaps-tools.ts";
import { itemRows } from "./items.ts";
import { parameterRows } from "./parameters.ts";
import { pluginRows } from "./plugins.ts";
import { toolRows } from "./tools.ts";

export const rowsOfContract: readonly Row[] = [
  ...requestGaps,
  ...pluginGaps,
  ...itemGaps,
  ...toolGaps,
  ...sandboxGaps,
  ...modelToolGaps,
  ...parameterRows,
  ...pluginRows,
  ...itemRows,
  ...answerRows,
  ...toolRows,
];
