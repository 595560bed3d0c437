/**
 * `npm start`: prepares the checkout, then runs the supervisor in this same process, so that signals reach it directly. For the same reason
 * the script of package.json begins with exec: npm signals its shell, which would end alone.
 */
import { prepareOrExit } from "./prepare.mjs";

await prepareOrExit();
await import("./bundle/main.js");
