/** The database of admin-svc, typed for Kysely. */
import type {
  ApiKeysTable,
  AuditLogTable,
  EndUsersTable,
  ExternalIdsTable,
  GuardrailKeyAssignmentsTable,
  GuardrailsTable,
  PolicyGenerationTable,
  PolicyLogTable,
  StoredProvidersTable,
  WorkspacesTable,
} from "./tables/administration.ts";
import type {
  ActivityTable,
  BackfillsTable,
  BudgetProcessesTable,
  BudgetReservationsTable,
  KeyDaysTable,
  KeyTotalsTable,
  LedgerRetentionTable,
  RemovedRecordsTable,
  TagAccountsTable,
  TagDaysTable,
  TurnDeliveriesTable,
  TurnsTable,
  UsageChangesTable,
  UsageRecordsTable,
  UsageSumsTable,
  WorkspaceDaysTable,
} from "./tables/usage.ts";
import type {
  AllCallsView,
  AllTurnsView,
  LedgerDaysTable,
  LedgerNamesTable,
  LedgerProgressTable,
  UsageCubePeriodsTable,
  UsageCubeTable,
  LedgerTable,
} from "./tables/ledger.ts";
import type {
  AlertRuleEventsTable,
  AlertRulesTable,
  AlertsTable,
  CapturedContentsTable,
  ConsoleSessionsTable,
  ExportCursorsTable,
  ViewsTable,
} from "./tables/console.ts";

export interface Database {
  workspaces: WorkspacesTable;
  audit_log: AuditLogTable;
  api_keys: ApiKeysTable;
  guardrails: GuardrailsTable;
  guardrail_key_assignments: GuardrailKeyAssignmentsTable;
  end_users: EndUsersTable;
  external_ids: ExternalIdsTable;
  policy_generation: PolicyGenerationTable;
  policy_log: PolicyLogTable;
  ledger: LedgerTable;
  ledger_names: LedgerNamesTable;
  ledger_days: LedgerDaysTable;
  ledger_progress: LedgerProgressTable;
  usage_cube: UsageCubeTable;
  usage_cube_periods: UsageCubePeriodsTable;
  all_calls: AllCallsView;
  all_turns: AllTurnsView;
  usage_records: UsageRecordsTable;
  turns: TurnsTable;
  turn_deliveries: TurnDeliveriesTable;
  usage_sums: UsageSumsTable;
  usage_changes: UsageChangesTable;
  activity_days: ActivityTable;
  activity_changes: ActivityTable;
  key_days: KeyDaysTable;
  key_totals: KeyTotalsTable;
  backfills: BackfillsTable;
  workspace_days: WorkspaceDaysTable;
  tag_days: TagDaysTable;
  tag_accounts: TagAccountsTable;
  ledger_retention: LedgerRetentionTable;
  removed_records: RemovedRecordsTable;
  budget_reservations: BudgetReservationsTable;
  budget_processes: BudgetProcessesTable;
  console_sessions: ConsoleSessionsTable;
  alerts: AlertsTable;
  alert_rules: AlertRulesTable;
  alert_rule_events: AlertRuleEventsTable;
  views: ViewsTable;
  export_positions: ExportCursorsTable;
  captured_contents: CapturedContentsTable;
  stored_providers: StoredProvidersTable;
}

/** Id of the workspace created by the first migration. */
export const defaultWorkspaceId = "00000000-0000-4000-8000-000000000001";
