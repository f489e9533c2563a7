import { type InputBox, QuickInputButtons, type QuickPick, type QuickPickItem } from 'vscode';

/** The answer of a person who wants the question before once more. */
export const BACK = Symbol('back');

/**
 * Shows a question and takes its answer; undefined where a person leaves it. `answer` is asked whenever they accept: the question stays
 * while it has none.
 */
export function asked<T, Item extends QuickPickItem>(
  question: InputBox | QuickPick<Item>,
  hasBefore: boolean,
  answer: () => T | undefined | Promise<T | undefined>,
): Promise<T | typeof BACK | undefined> {
  return new Promise((resolve) => {
    const done = (value: T | typeof BACK) => {
      resolve(value);
      question.hide();
    };
    question.ignoreFocusOut = true;
    question.buttons = hasBefore ? [QuickInputButtons.Back] : [];
    question.onDidTriggerButton(() => done(BACK));
    question.onDidAccept(async () => {
      const value = await answer();
      if (value !== undefined) done(value);
    });
    question.onDidHide(() => {
      resolve(undefined);
      question.dispose();
    });
    question.show();
  });
}
