import { expect, it } from "vitest";
import { FIELD_ERRORS } from "../errors.ts";
import { type AnswerToCheck, checkAnswer } from "./check-answer.suite.ts";
import { openApiDocument } from "./openapi.ts";

const ERROR = {
  message: "Enter the password.",
  code: "validation_failed",
  status: 400,
  errors: [{ field: "password", message: "Enter the password.", code: "password_required" }],
  requestId: "12345678",
};
const ANSWER: AnswerToCheck = {
  method: "POST",
  path: "/api/v1/user/login",
  status: 400,
  mediaType: "application/json",
  requestId: "12345678",
  body: ERROR,
};

it("the document describes the answer of a call that fails", () => {
  checkAnswer(ANSWER);
});

it.each<{ what: string; change: Partial<AnswerToCheck> }>([
  { what: "a status that the call does not have", change: { status: 409 } },
  { what: "another type", change: { mediaType: "text/html" } },
  { what: "no request id", change: { requestId: undefined } },
  { what: "a code that the call does not have", change: { body: { ...ERROR, code: "email_taken" } } },
  { what: "a further member", change: { body: { ...ERROR, stack: "" } } },
  { what: "no message", change: { body: { ...ERROR, message: undefined } } },
  {
    what: "a code that the field does not have",
    change: { body: { ...ERROR, errors: [{ ...ERROR.errors[0], code: "invalid_email" }] } },
  },
  {
    what: "a field that the call does not have",
    change: { body: { ...ERROR, errors: [{ ...ERROR.errors[0], field: "name" }] } },
  },
  { what: "no error at all on an unknown path", change: { path: "/unknown", status: 404, body: {} } },
])("an answer with $what is not of the document", ({ change }) => {
  expect(() => checkAnswer({ ...ANSWER, ...change })).toThrow(/the document|X-Request-Id/);
});

it("the document has every code of a field", () => {
  const text = JSON.stringify(openApiDocument()["paths"]);
  expect(Object.keys(FIELD_ERRORS).filter((code) => !text.includes(`"${code}"`))).toEqual([]);
});
