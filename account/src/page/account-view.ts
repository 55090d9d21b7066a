// The view of a signed-in user: profile, e-mail address, password, sessions, and the end of the account.
import { avatarImage } from "./avatar-input.ts";
import { button, h } from "./element.ts";
import { describeFailure, form } from "./form.ts";
import type { User } from "../client/generated/calls.ts";
import type { Page, View } from "./page.ts";
import { sessionsSection } from "./sessions-section.ts";
import { avatarHint, newPasswordField } from "./signed-out-views.ts";

/** Takes the user after a change. */
type Changed = (user: User) => void;

/**
 * The view; `note` is about what has just been done, and `ended` is called when the session has ended, with a sentence
 * for the user. A change by one form keeps the input of the others.
 */
export function accountView(page: Page, ended: (message: string) => void, note?: string): View {
  const { user } = page;
  if (user === undefined) throw new Error("Cannot show the account: no user is signed in");
  const signOut = button("Sign out", () => {
    void page.client.logout().then(
      ({ message }) => ended(message),
      (error: unknown) => {
        page.say(describeFailure(error));
      },
    );
  });
  const who = h("header", { class: "who" });
  const removal = removalForm(page, (changed) => show(changed));
  const show: Changed = (changed) => {
    page.user = changed;
    const name = changed.name ?? changed.email;
    const names = h("div", {}, h("strong", {}, name), h("span", { class: "quiet" }, changed.email));
    who.replaceChildren(avatarImage(changed.avatar, name), names, signOut);
    removal.hidden = changed.avatar === null;
  };
  show(user);
  const sessions = sessionsSection(page, ended);
  const sections = [
    section("Profile", profileForm(page, show), avatarForm(page, show), removal),
    page.facts.mail ? section("E-mail address", ...emailForms(page)) : undefined,
    section("Password", passwordForm(page, sessions.reload)),
    sessions.element,
    section("Delete account", deletion(page, ended)),
  ];
  const content = [who, ...sections.filter((each) => each !== undefined)];
  return { title: "Your account", note, isWide: true, content };
}

/** A part of the view with its heading. */
function section(title: string, ...content: readonly Node[]): HTMLElement {
  const id = `${title.toLowerCase().replaceAll(/\W+/g, "-")}-heading`;
  return h("section", { "aria-labelledby": id }, h("h2", { id }, title), ...content);
}

function profileForm(page: Page, changed: Changed): HTMLElement {
  return form({
    id: "profile",
    fields: [
      {
        name: "name",
        label: "Name",
        type: "text",
        autocomplete: "name",
        isOptional: true,
        value: page.user?.name ?? "",
      },
    ],
    submit: "Save name",
    onSubmit: async ({ text, signal }) => {
      const name = text("name").trim();
      const { user, message } = await page.client.changeProfile({ name: name === "" ? null : name }, { signal });
      changed(user);
      return message;
    },
  });
}

function avatarForm(page: Page, changed: Changed): HTMLElement {
  return form({
    id: "picture",
    fields: [
      {
        name: "avatar",
        label: "New picture",
        type: "avatar",
        maxBytes: page.facts.avatarMaxBytes,
        hint: avatarHint(page),
      },
    ],
    submit: "Save picture",
    onSubmit: async ({ avatar, signal, onProgress }) => {
      if (avatar === undefined) throw new Error("Cannot save a picture: none is chosen");
      const { user, message } = await page.upload(onProgress, () => page.client.changeAvatar({ avatar }, { signal }));
      changed(user);
      return message;
    },
  });
}

function removalForm(page: Page, changed: Changed): HTMLElement {
  return form({
    id: "no-picture",
    fields: [],
    submit: "Remove picture",
    isDangerous: true,
    onSubmit: async ({ signal }) => {
      const { user, message } = await page.client.removeAvatar({ signal });
      changed(user); // Hides this form.
      document.getElementById("picture-avatar")?.focus();
      page.say(message);
      return "";
    },
  });
}

function emailForms(page: Page): readonly HTMLElement[] {
  const { user } = page;
  const isVerified = user?.emailVerified === true;
  const badge = h(
    "span",
    { class: isVerified ? "badge good" : "badge warning" },
    isVerified ? "verified" : "not verified",
  );
  const send = form({
    id: "verification",
    fields: [],
    submit: "Send verification mail",
    onSubmit: async ({ signal }) => (await page.client.sendVerification({ signal })).message,
  });
  const change = form({
    id: "change-email",
    fields: [
      { name: "email", label: "New e-mail address", type: "email", autocomplete: "email" },
      { name: "password", label: "Password", type: "password", autocomplete: "current-password" },
    ],
    submit: "Change address",
    onSubmit: async ({ text, signal }) =>
      (await page.client.changeEmail({ email: text("email"), password: text("password") }, { signal })).message,
  });
  const present = h("p", { class: "present" }, user?.email, " ", badge);
  return [present, ...(isVerified ? [] : [send]), h("details", {}, h("summary", {}, "Change the address"), change)];
}

/** The sessions are others after a change of the password: `changed` is called. */
function passwordForm(page: Page, changed: () => void): HTMLElement {
  return form({
    id: "change-password",
    username: page.user?.email ?? "",
    fields: [
      { name: "password", label: "Present password", type: "password", autocomplete: "current-password" },
      newPasswordField(page, "newPassword"),
    ],
    submit: "Change password",
    onSubmit: async ({ text, signal }) => {
      const input = { password: text("password"), newPassword: text("newPassword") };
      const { message } = await page.client.changePassword(input, { signal });
      changed();
      return message;
    },
  });
}

function deletion(page: Page, ended: (message: string) => void): HTMLElement {
  const remove = form({
    id: "delete-account",
    username: page.user?.email ?? "",
    fields: [{ name: "password", label: "Password", type: "password", autocomplete: "current-password" }],
    submit: "Delete my account",
    isDangerous: true,
    onSubmit: async ({ text, signal }) => {
      const { message } = await page.client.deleteAccount({ password: text("password") }, { signal });
      ended(message);
      return message;
    },
  });
  const what = "Removes the account with its sessions and its picture. There is no way back.";
  return h("details", {}, h("summary", {}, "I want to delete my account"), h("p", {}, what), remove);
}
