// The views of a person who is not signed in: sign in, register, and a new password for a forgotten one.
import { h } from "./element.ts";
import { type Field, form } from "./form.ts";
import type { Page, View } from "./page.ts";

/** The input of an address that is also the name of the account for password managers. */
const EMAIL = { name: "email", label: "E-mail address", type: "email", autocomplete: "username" } as const;

const PASSWORD = { name: "password", label: "Password", type: "password", autocomplete: "current-password" } as const;

/** Signs in; `note` says why this view is shown. */
export function signInView(page: Page, onSignedIn: () => void, note?: string): View {
  const signIn = form({
    id: "sign-in",
    fields: [EMAIL, PASSWORD],
    submit: "Sign in",
    onSubmit: async ({ text, signal }) => {
      const credentials = { email: text("email"), password: text("password") };
      const { user, message } = await page.client.login(credentials, { signal });
      page.user = user;
      onSignedIn();
      return message;
    },
  });
  const links = [
    h("a", { href: "#/register" }, "Create an account"),
    page.facts.mail ? h("a", { href: "#/forgot" }, "Forgot your password?") : undefined,
  ];
  return { title: "Sign in", note, content: [signIn, h("p", { class: "links" }, ...links)] };
}

/** Creates an account, and signs in to it; where that fails, `onRegistered` asks the user to. */
export function registerView(page: Page, onSignedIn: () => void, onRegistered: (message: string) => void): View {
  const { avatarRequired, avatarMaxBytes } = page.facts;
  const register = form({
    id: "register",
    fields: [
      {
        ...{ name: "avatar", label: avatarRequired ? "Picture" : "Picture (optional)", type: "avatar" },
        ...{ isOptional: !avatarRequired, maxBytes: avatarMaxBytes, hint: avatarHint(page) },
      },
      { name: "name", label: "Name", type: "text", autocomplete: "name", isOptional: true },
      EMAIL,
      newPasswordField(page, "password"),
    ],
    submit: "Create account",
    onSubmit: async ({ text, avatar, signal, onProgress }) => {
      const credentials = { email: text("email"), password: text("password") };
      const name = text("name") === "" ? undefined : text("name");
      const { message } = await page.upload(onProgress, () =>
        page.client.register({ ...credentials, name, avatar }, { signal }),
      );
      try {
        page.user = (await page.client.login(credentials)).user;
        onSignedIn();
      } catch {
        onRegistered(message);
      }
      return message;
    },
  });
  return { title: "Create an account", content: [register, backToSignIn("You have an account?")] };
}

/** Asks for a mail with a link that sets a password. */
export function forgotView(page: Page): View {
  const forgot = form({
    id: "forgot",
    fields: [EMAIL],
    submit: "Send link",
    onSubmit: async ({ text, signal }) =>
      (await page.client.forgotPassword({ email: text("email") }, { signal })).message,
  });
  const what = "Enter the address of your account. A mail with a link lets you set a new password.";
  return { title: "Forgot your password?", content: [h("p", {}, what), forgot, backToSignIn("Back to")] };
}

/** Sets a password with the token of a mail. */
export function resetView(page: Page, token: string, onDone: (message: string) => void): View {
  const reset = form({
    id: "reset",
    username: "", // The page does not know it; password managers ask which account it is.
    fields: [newPasswordField(page, "newPassword")],
    submit: "Set password",
    onSubmit: async ({ text, signal }) => {
      const { message } = await page.client.resetPassword({ token, newPassword: text("newPassword") }, { signal });
      onDone(message);
      return message;
    },
  });
  const again = h("p", { class: "links" }, h("a", { href: "#/forgot" }, "Ask for a new link"));
  return { title: "Set a new password", content: [reset, again] };
}

/** The input of a new password. */
export function newPasswordField(page: Page, name: "password" | "newPassword"): Field {
  return {
    ...{ name, label: name === "password" ? "Password" : "New password", type: "password" },
    ...{ autocomplete: "new-password", hint: `At least ${page.facts.passwordMinLength} characters.` },
  };
}

/** The images that the input of an avatar takes. */
export function avatarHint({ facts }: Page): string {
  return `PNG, JPEG or WebP, up to ${Number((facts.avatarMaxBytes / 1_048_576).toFixed(1))} MiB.`;
}

function backToSignIn(text: string): HTMLElement {
  return h("p", { class: "links" }, h("span", {}, `${text} `, h("a", { href: "#/" }, "Sign in")));
}
