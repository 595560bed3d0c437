/** Lists the gRPC services for administrators; all other services are for Sluice's own processes. */
import { AlertService } from "@sluice/proto/gen/sluice/admin/v1/alert_service_pb.js";
import { AuditService } from "@sluice/proto/gen/sluice/admin/v1/audit_service_pb.js";
import { EndUserService } from "@sluice/proto/gen/sluice/admin/v1/end_user_service_pb.js";
import { GuardrailService } from "@sluice/proto/gen/sluice/admin/v1/guardrail_service_pb.js";
import { KeyService } from "@sluice/proto/gen/sluice/admin/v1/key_service_pb.js";
import { UsageService } from "@sluice/proto/gen/sluice/admin/v1/usage_service_pb.js";
import { ViewService } from "@sluice/proto/gen/sluice/admin/v1/view_service_pb.js";
import { WorkspaceService } from "@sluice/proto/gen/sluice/admin/v1/workspace_service_pb.js";

export const administrationServices = [
  GuardrailService,
  KeyService,
  EndUserService,
  UsageService,
  WorkspaceService,
  AuditService,
  ViewService,
  AlertService,
] as const;
