/** gRPC service for alert rules on views: set, read, delete and test. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  defaultRulePage,
  maxAlertRules,
  ruleSettingsJson,
  ruleSettingsMessage,
} from "@sluice/proto/contract/records/alert-rules.js";
import {
  type AlertRule,
  AlertRuleEventSchema,
  AlertRuleSchema,
  type AlertService,
  DeleteAlertRuleResponseSchema,
  GetAlertRuleResponseSchema,
  ListAlertChannelsResponseSchema,
  ListAlertRuleEventsResponseSchema,
  ListAlertRulesResponseSchema,
  PutAlertRuleResponseSchema,
  TestAlertRuleResponseSchema,
} from "@sluice/proto/gen/sluice/admin/v1/alert_service_pb.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { invalid } from "@sluice/proto/lib/validation/problems.js";
import { readAlertRule } from "../rules/alert-rules.ts";
import { checkViewName } from "../rules/views.ts";
import { channelsOf } from "../sinks/alert-rules.ts";
import { readFigure } from "../store/alerts/figures.ts";
import { type TestPause, awaitDeliveries, findTestPause, startRuleTest } from "../store/alerts/rule-tests.ts";
import {
  type AlertRuleRow,
  deleteAlertRule,
  findAlertRule,
  listRuleEvents,
  pageOfAlertRules,
  putAlertRule,
} from "../store/alerts/rules.ts";
import { findWorkspace } from "../store/workspaces.ts";
import { asAdministrator, asRecordReport, asReport } from "./caller.ts";
import type { Deps } from "./deps.ts";
import { pageFields, resolvePage } from "./reports/page.ts";

/** Maximum time in milliseconds from the beginning of a test until its answer; 1.5 s shorter than the wait of the gateway. */
const testMs = 8_500;
/** Maximum wait in milliseconds of a test for a place of reports. With the time of the report, 2 s are left for deliveries. */
const placeMs = 3_000;

export function alertRuleService(deps: Deps): ServiceImpl<typeof AlertService> {
  const { reads, writes } = deps;
  const administer = asAdministrator(deps);
  const find = async (workspaceId: string, name: string): Promise<AlertRuleRow> => {
    checkViewName(name);
    const row = await findAlertRule(reads, workspaceId, name);
    if (!row) throw notFound();
    return row;
  };
  return {
    ...testMethods(deps, find),
    listAlertRules: (given, context) =>
      asReport(deps, "limit, and cursor in place of offset")(context, async ({ workspaceId }, database) => {
        const page = resolvePage(given, defaultRulePage);
        const { rows, ...others } = await pageOfAlertRules(database, workspaceId, page);
        return create(ListAlertRulesResponseSchema, { rules: rows.map(ruleMessage), ...pageFields(others) });
      }),
    getAlertRule: ({ name }, context) =>
      administer(context, async ({ workspaceId }) =>
        create(GetAlertRuleResponseSchema, { rule: ruleMessage(await find(workspaceId, name)) }),
      ),
    putAlertRule: ({ name, settings: given }, context) =>
      administer(context, async (administrator) => {
        const settings = readAlertRule({ name, settings: ruleSettingsJson(given) });
        const known = (await channels(deps, administrator.workspaceId)).map((channel) => channel.name);
        const unknown = settings.channels.filter((channel) => !known.includes(channel));
        if (unknown.length > 0) throw invalid("channels", `no channel ${unknown.join(", ")} for this workspace`);
        const put = await putAlertRule(writes, administrator, { name, settings });
        if (put === "full")
          throw new Fault(FaultReason.CONFLICT, `A workspace has at most ${maxAlertRules} alert rules`);
        const { row, created, changed } = put;
        return create(PutAlertRuleResponseSchema, { rule: ruleMessage(row), created, changed });
      }),
    deleteAlertRule: ({ name }, context) =>
      administer(context, async (administrator) => {
        checkViewName(name);
        if (!(await deleteAlertRule(writes, administrator, name))) throw notFound();
        return create(DeleteAlertRuleResponseSchema);
      }),
    listAlertRuleEvents: ({ name }, context) =>
      administer(context, async ({ workspaceId }) => {
        const events = await listRuleEvents(reads, (await find(workspaceId, name)).id);
        return create(ListAlertRuleEventsResponseSchema, {
          events: events.map(({ at, type, value, threshold }) =>
            create(AlertRuleEventSchema, {
              at: timestampFromDate(at),
              type,
              threshold,
              ...(value !== null && { value }),
            }),
          ),
        });
      }),
    listAlertChannels: (_, context) =>
      administer(context, async ({ workspaceId }) => {
        const listed = await channels(deps, workspaceId);
        return create(ListAlertChannelsResponseSchema, {
          channels: listed.map(({ name, slack }) => ({ name, kind: slack ? "slack" : "webhook" })),
        });
      }),
  };
}

type TestMethods = Pick<ServiceImpl<typeof AlertService>, "testAlertRule">;

function testMethods(deps: Deps, find: (workspaceId: string, name: string) => Promise<AlertRuleRow>): TestMethods {
  const { reads, writes } = deps;
  return {
    testAlertRule: ({ name }, context) =>
      asAdministrator(deps)(context, async (administrator) => {
        const until = performance.now() + testMs;
        const { workspaceId } = administrator;
        const row = await find(workspaceId, name);
        const pause = await findTestPause(reads, row);
        if (pause) throw testedJustNow(pause);
        const now = new Date();
        const { value, isMet } = await asRecordReport(deps, "a shorter window, or a filter such as key")(
          { ...context, signal: AbortSignal.any([context.signal, AbortSignal.timeout(placeMs)]) },
          (_, database) => readFigure(database, { workspaceId, rule: row.settings, now }),
        );
        const known = (await channels(deps, workspaceId)).map((channel) => channel.name);
        const reached = row.settings.channels.filter((channel) => known.includes(channel));
        const started = await startRuleTest(writes, administrator, {
          rule: row,
          channels: reached,
          value: value ?? null,
        });
        if (started === "gone") throw notFound();
        if ("message" in started) throw testedJustNow(started);
        const waited = await awaitDeliveries(reads, started, until);
        const missing = row.settings.channels.filter((channel) => !known.includes(channel));
        return create(TestAlertRuleResponseSchema, {
          isMet,
          ...(value !== undefined && { value }),
          deliveries: [
            ...waited,
            ...missing.map((channel) => ({ channel, isDelivered: false, error: "no such channel for this workspace" })),
          ],
        });
      }),
  };
}

const notFound = (): Fault => new Fault(FaultReason.NOT_FOUND, "Alert rule not found");

const testedJustNow = ({ message, retryAfterMs }: TestPause): Fault =>
  new Fault(FaultReason.RATE_LIMITED, message, { retryAfterMs, origin: FaultOrigin.ADMIN });

/** Sinks in `alerts` of the configuration file that rules of a workspace may use. */
async function channels({ reads, sinks }: Deps, workspaceId: string) {
  const workspace = await findWorkspace(reads, workspaceId);
  return channelsOf(sinks().alerts, workspace ? [workspace.name, workspaceId] : [workspaceId]);
}

const ruleMessage = (row: AlertRuleRow): AlertRule =>
  create(AlertRuleSchema, {
    name: row.name,
    settings: ruleSettingsMessage(row.settings),
    createdBy: row.created_by,
    createdAt: timestampFromDate(row.created_at),
    updatedAt: timestampFromDate(row.updated_at),
    isFiring: row.is_firing,
    lastError: row.last_error ?? "",
    ...(row.firing_since && { firingSince: timestampFromDate(row.firing_since) }),
    ...(row.value !== null && { value: row.value }),
    ...(row.checked_at && { checkedAt: timestampFromDate(row.checked_at) }),
  });
