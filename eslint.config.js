// @ts-check
// The lint rules. Layout is Prettier's; who may import whom is tools/gates/check-imports.ts; this file holds what needs a look at one file and its types.
import comments from "@eslint-community/eslint-plugin-eslint-comments";
import vitest from "@vitest/eslint-plugin";
import jsdoc from "eslint-plugin-jsdoc";
import tseslint from "typescript-eslint";

/** Files that only tests run. */
const TEST_FILES = ["**/*.test.ts", "**/*.suite.ts"];

/** Forbidden in every file, each with what to write instead. */
const FORBIDDEN_EVERYWHERE = [
  {
    selector: "ExportDefaultDeclaration",
    message: "Export by name: a default export has a different name at every import.",
  },
  {
    selector: "ExportAllDeclaration",
    message: "Import from the file that declares the name: re-exporting files hide who depends on whom.",
  },
  {
    selector: "ImportSpecifier[imported.name=/^(hashSync|compareSync|genSaltSync)$/]",
    message: "Use the asynchronous form: this one stops every request for a tenth of a second.",
  },
  {
    selector: "MemberExpression[property.name=/^(hashSync|compareSync|genSaltSync)$/]",
    message: "Use the asynchronous form: this one stops every request for a tenth of a second.",
  },
  {
    selector: "CatchClause > BlockStatement[body.length=0]",
    message: "Handle the error, or do not catch it. A comment alone does not handle it.",
  },
];

/** The environment is read once, in the main.ts of a program, and handed on as a typed object. */
const FORBIDDEN_ENVIRONMENT = {
  selector: "MemberExpression[object.name='process'][property.name='env']",
  message: "Read the environment in main.ts only and hand on what was read.",
};

/** A unit test gives the same answer every time: time and randomness are handed in, and it never sleeps. */
const FORBIDDEN_IN_UNIT_TESTS = [
  {
    selector: "CallExpression[callee.object.name='Date'][callee.property.name='now']",
    message: "Hand in a fixed time.",
  },
  {
    selector: "CallExpression[callee.object.name='performance'][callee.property.name='now']",
    message: "Hand in a fixed time.",
  },
  { selector: "NewExpression[callee.name='Date'][arguments.length=0]", message: "Hand in a fixed time." },
  {
    selector: "CallExpression[callee.object.name='Math'][callee.property.name='random']",
    message: "Hand in a fixed sequence.",
  },
  { selector: "CallExpression[callee.name='randomUUID']", message: "Hand in a fixed sequence." },
  {
    selector: "ImportDeclaration[source.value='node:timers/promises']",
    message: "Do not sleep: use the injected clock.",
  },
  {
    selector: "CallExpression[callee.name='setTimeout'][arguments.0.name='resolve']",
    message: "Do not sleep: use the injected clock.",
  },
];

/** A test runs everywhere or does not exist; the plugin's rules do not know these. */
const FORBIDDEN_IN_TESTS = [
  {
    selector: "MemberExpression[object.name=/^(it|test|describe)$/][property.name=/^(todo|skipIf|runIf|fails)$/]",
    message: "A test runs everywhere or does not exist.",
  },
];

/** Names that say nothing about what is inside; every other name is in kebab-case. */
const BADLY_NAMED_FILES = [
  "**/*[A-Z_]*.ts",
  "**/{,*-}{util,utils,helper,helpers,misc,type,types,manager,managers,index,common,stuff}{,.*}.ts",
];

/** A file starts with a comment on what it does; a test leaves that to the file that it tests. */
const firstComment = {
  meta: { type: "suggestion", schema: [], messages: { missing: "Say in a first comment what the file is for." } },
  /** @param {import("eslint").Rule.RuleContext} context */
  create: ({ sourceCode, report }) => ({
    Program() {
      if (!/^(#!.*\n)?\/[/*]/.test(sourceCode.text)) report({ loc: { line: 1, column: 0 }, messageId: "missing" });
    },
  }),
};

export default tseslint.config(
  { ignores: ["**/dist/**", "**/generated/**", "coverage/**", "node_modules/**", ".run/**"] },
  { linterOptions: { reportUnusedDisableDirectives: "error" } },
  {
    files: ["**/*.ts"],
    plugins: { comments },
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
      "@typescript-eslint/consistent-type-imports": [
        "error",
        { fixStyle: "separate-type-imports", disallowTypeAnnotations: false },
      ],
      "@typescript-eslint/consistent-type-exports": "error",
      "@typescript-eslint/explicit-module-boundary-types": "error",
      "@typescript-eslint/no-import-type-side-effects": "error",
      "@typescript-eslint/prefer-readonly": "error",
      "no-restricted-syntax": ["error", ...FORBIDDEN_EVERYWHERE, FORBIDDEN_ENVIRONMENT],
      "no-console": "error",
      "no-warning-comments": ["error", { terms: ["todo", "fixme", "xxx"], location: "anywhere" }],
      "no-async-promise-executor": "error",
      "no-cond-assign": "error",
      "no-constant-binary-expression": "error",
      "no-control-regex": "error",
      "no-dupe-else-if": "error",
      "no-duplicate-case": "error",
      "no-empty-pattern": "error",
      "no-loss-of-precision": "error",
      "no-misleading-character-class": "error",
      "no-self-compare": "error",
      "no-template-curly-in-string": "error",
      "no-unsafe-finally": "error",
      "no-unsafe-optional-chaining": "error",
      "no-useless-catch": "error",
      eqeqeq: "error",
      "object-shorthand": "error",
      "no-param-reassign": "error",
      "comments/require-description": ["error", { ignore: ["eslint-env"] }],
      "no-implicit-coercion": "error",

      // Numbers and booleans read well in a message as they are; only what has no text of its own
      // stays forbidden.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true }],
      // Hot paths put keys together with `+`; a number there is as plain as in a template.
      "@typescript-eslint/restrict-plus-operands": ["error", { allowNumberAndString: true }],
      // `env["X"]` is how an index signature must be read here (tsconfig
      // noPropertyAccessFromIndexSignature).
      "@typescript-eslint/dot-notation": ["error", { allowIndexSignaturePropertyAccess: true }],
      // `() => stop()` handed to a callback that wants nothing is a common and clear shape.
      "@typescript-eslint/no-confusing-void-expression": [
        "error",
        { ignoreArrowShorthand: true, ignoreVoidOperator: true },
      ],
      // `Promise<number | void>` says that a function may return nothing at all, where `undefined`
      // would have to be returned.
      "@typescript-eslint/no-invalid-void-type": "off",
      // Types say by their shape what fits; whether a constructor made it matters where
      // `instanceof` is asked, and there it is tested.
      "@typescript-eslint/no-unsafe-class-instance-assignment": "off",
      // A method that an interface wants may have nothing to do; its comment says so.
      "@typescript-eslint/no-empty-function": ["error", { allow: ["methods", "arrowFunctions"] }],
      // An implementation may be synchronous behind an interface that promises, and stays `async`
      // so that a throw becomes a rejection.
      "@typescript-eslint/require-await": "off",
      // `_` marks a parameter that a signature asks for and this body does not need.
      "@typescript-eslint/no-unused-vars": [
        "error",
        { argsIgnorePattern: "^_", varsIgnorePattern: "^_", ignoreRestSiblings: true },
      ],
      // A loop that ends from inside (`for (;;)`, `while (true)`) says what it means.
      "@typescript-eslint/no-unnecessary-condition": [
        "error",
        { allowConstantLoopConditions: "only-allowed-literals" },
      ],
    },
  },
  {
    // Sources that ship: a file is read in one go, a function fits on a screen. Tests may be
    // longer: their tables are.
    files: ["**/*.ts"],
    ignores: TEST_FILES,
    plugins: { jsdoc, weir: { rules: { "first-comment": firstComment } } },
    rules: {
      "weir/first-comment": "error",
      "jsdoc/require-jsdoc": [
        "error",
        {
          publicOnly: true,
          enableFixer: false,
          require: { ClassDeclaration: true },
        },
      ],
      "jsdoc/no-blank-blocks": ["error", { enableFixer: false }],
      "max-lines": ["error", { max: 300, skipBlankLines: true, skipComments: true }],
      "max-lines-per-function": ["error", { max: 70, skipBlankLines: true, skipComments: true }],
    },
  },
  {
    files: ["ratelimit/**/*.ts"],
    ignores: [...TEST_FILES, "**/topology-client.ts"],
    rules: {
      "no-restricted-imports": ["error", { name: "ioredis", message: "Only topology-client.ts asks with it." }],
    },
  },
  {
    // Programs, and the piece of the plumbing that hands the environment to every program: the only
    // places that read it.
    files: ["**/main.ts", "cli/src/config-check.ts", "cli/src/client.ts", "common/src/lifecycle/host.ts"],
    rules: { "no-restricted-syntax": ["error", ...FORBIDDEN_EVERYWHERE] },
  },
  {
    // Programs of the workbench talk to a person at a terminal and to the tools they start.
    files: ["tools/**/*.ts", "{dev,e2e}/src/**/run.ts", "**/generate.ts"],
    rules: { "no-console": "off", "no-restricted-syntax": ["error", ...FORBIDDEN_EVERYWHERE] },
  },
  {
    // Tests, and the local stack and scenarios: they look into what they have just been given, and
    // a wrong guess fails at once.
    files: [...TEST_FILES, "{dev,e2e,harness}/src/**/*.ts"],
    rules: {
      "@typescript-eslint/no-non-null-assertion": "off",
      // `expect(fake.send)` names a method without calling it.
      "@typescript-eslint/unbound-method": "off",
      // `expect.objectContaining` and `JSON.parse` are typed any; the assertion is the check.
      "@typescript-eslint/no-unsafe-assignment": "off",
    },
  },
  {
    files: TEST_FILES,
    plugins: { vitest },
    rules: {
      "no-restricted-syntax": ["error", ...FORBIDDEN_EVERYWHERE, ...FORBIDDEN_IN_TESTS],
      "vitest/no-focused-tests": ["error", { fixable: false }],
      "vitest/no-disabled-tests": "error",
      "vitest/no-conditional-tests": "error",
    },
  },
  {
    files: TEST_FILES,
    // They bind what they start themselves, or start what ends by itself.
    ignores: ["e2e/src/attacks/**", "tools/**"],
    rules: {
      "no-restricted-imports": [
        "error",
        {
          name: "node:child_process",
          importNames: ["fork", "spawn"],
          message: "Start it with @weir/harness/processes/start-process, so that it ends with the test.",
        },
      ],
    },
  },
  {
    files: ["**/*.test.ts"],
    ignores: ["**/*.{integration,system,node,measured,soak}.test.ts", "e2e/**"],
    rules: {
      "no-restricted-syntax": ["error", ...FORBIDDEN_EVERYWHERE, ...FORBIDDEN_IN_TESTS, ...FORBIDDEN_IN_UNIT_TESTS],
    },
  },
  {
    // Tools that read a default export from these files.
    files: ["*.config.ts"],
    rules: { "no-restricted-syntax": "off" },
  },
  {
    files: BADLY_NAMED_FILES,
    rules: {
      "no-restricted-syntax": [
        "error",
        { selector: "Program", message: "Name a file in kebab-case, after what it does and its main export." },
      ],
    },
  },
);
