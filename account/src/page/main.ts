// The page of the account service: shows the view of the address, and follows links of mails.
import { accountView } from "./account-view.ts";
import { button, h } from "./element.ts";
import { describeFailure } from "./form.ts";
import { CallError } from "../client/account-client.ts";
import { Page, type View } from "./page.ts";
import { forgotView, registerView, resetView, signInView } from "./signed-out-views.ts";

const root = document.getElementById("page");
if (root === null) throw new Error("Cannot show the page: the document has no place for it");

/** Tokens of the links of mails. They leave the address, which histories keep. */
const links = { verify: "", reset: "" };

const page = new Page(root, () => {
  if (page.user === undefined) return;
  page.user = undefined;
  showSignIn("Your session has ended. Sign in again.");
});

function route(): void {
  const [, kind = "", token = ""] = /^#(verify|reset)=([\w-]+)$/.exec(location.hash) ?? [];
  links.reset = kind === "reset" ? token : "";
  if (kind === "verify") links.verify = token;
  if (kind !== "") history.replaceState(null, "", "#/");
  page.say("");
  if (links.reset !== "") page.show(resetView(page, links.reset, passwordSet));
  else if (page.user !== undefined) showAccount();
  else if (location.hash === "#/register") page.show(registerView(page, signedIn, showSignIn));
  else if (location.hash === "#/forgot") page.show(forgotView(page));
  else showSignIn(links.verify === "" ? undefined : "Sign in to verify your e-mail address.");
}

function showSignIn(note?: string): void {
  history.replaceState(null, "", "#/");
  page.show(signInView(page, signedIn, note));
}

function showAccount(note?: string): void {
  if (links.verify !== "") {
    void verify(links.verify);
    return;
  }
  page.show(accountView(page, sessionEnded, note));
}

function signedIn(): void {
  history.replaceState(null, "", "#/");
  showAccount();
}

function sessionEnded(message: string): void {
  page.user = undefined;
  showSignIn(message);
}

function passwordSet(message: string): void {
  links.reset = "";
  // All sessions of that account have ended; this browser may have one of another account.
  page.client.currentUser().then(
    ({ user }) => {
      page.user = user;
      showAccount(message);
    },
    () => sessionEnded(message),
  );
}

async function verify(token: string): Promise<void> {
  links.verify = "";
  try {
    const { user, message } = await page.client.verifyEmail({ token });
    page.user = user;
    showAccount(message);
  } catch (error) {
    if (page.user !== undefined) showAccount(describeFailure(error));
    // The link is still good for the next try.
    if (!(error instanceof CallError && error.status === 400)) links.verify = token;
  }
}

/** Asks who is signed in, and shows the first view. */
async function start(): Promise<void> {
  try {
    if (page.facts.mayHaveSession !== false) page.user = (await page.client.currentUser()).user;
  } catch (error) {
    if (!(error instanceof CallError) || error.status !== 401) {
      page.show(unreachable(describeFailure(error)));
      return;
    }
  }
  route();
}

function unreachable(reason: string): View {
  return {
    title: "Not available",
    content: [h("p", { role: "alert" }, reason), button("Try again", () => void start(), { class: "primary" })],
  };
}

addEventListener("hashchange", route);
void start();
