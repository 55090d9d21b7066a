// The type of our dashboards, as Grafana accepts them: its own types, narrowed to the panels and queries that we use.
import type { Dashboard, Panel, RowPanel, VariableModel } from "@grafana/schema";
import type { Options as StatOptions } from "@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen";
import type {
  FieldConfig as TableFields,
  Options as TableOptions,
} from "@grafana/schema/dist/esm/raw/composable/table/panelcfg/x/TablePanelCfg_types.gen";
import type {
  FieldConfig as TimeSeriesFields,
  Options as TimeSeriesOptions,
} from "@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen";

/** A value as JSON has it: the text of an enumeration in place of its member. */
type Json<Value> = Value extends string
  ? `${Value}`
  : Value extends object
    ? { readonly [Key in keyof Value]: Json<Value[Key]> }
    : Value;

/** A value of which Grafana fills in what is missing. */
type WithDefaults<Value> = Value extends readonly unknown[]
  ? Value
  : Value extends object
    ? { [Key in keyof Value]?: WithDefaults<Value[Key]> }
    : Value;

/** A query of Grafana's Prometheus plugin, whose types are in no package. */
interface PrometheusQuery {
  readonly refId: string;
  readonly datasource: { readonly type: "prometheus"; readonly uid: `\${datasource}` };
  readonly expr: string;
  readonly legendFormat: string;
  readonly editorMode: "code";
  readonly range: boolean;
  readonly instant?: boolean;
  readonly format?: "table";
}

type Fields = NonNullable<Panel["fieldConfig"]>;

/** A panel of one plugin: Grafana's type leaves options and fields of plugins open. */
type PanelOf<Type extends string, Options, Custom> = Omit<Panel, "type" | "options" | "targets" | "fieldConfig"> & {
  type: Type;
  title: string;
  options: WithDefaults<Options>;
  targets: PrometheusQuery[];
  fieldConfig: Omit<Fields, "defaults"> & {
    defaults: Omit<Fields["defaults"], "custom"> & { custom?: WithDefaults<Custom> };
  };
};

/** A variable. Grafana's page shows the definition of a query; its type lacks it. */
type Variable = Omit<VariableModel, "current"> & {
  current: WithDefaults<VariableModel["current"]>;
  definition?: string;
};

/** A dashboard with no property that Grafana does not know. */
export type GrafanaDashboard = Json<
  Omit<Dashboard, "panels" | "templating"> & {
    uid: string;
    templating: { list: Variable[] };
    panels: (
      | (Omit<RowPanel, "type"> & { type: "row" })
      | PanelOf<"stat", StatOptions, Record<string, never>>
      | PanelOf<"table", TableOptions, TableFields>
      | PanelOf<"timeseries", TimeSeriesOptions, TimeSeriesFields>
    )[];
  }
>;
