import { NOTE_REQUEST, type NoteParams } from '../../features/note-protocol';
import type { Connected } from './connected';

/** What a person answered, written into a project file: the text of it. */
export function onNote({ connection, runner }: Connected): void {
  connection.onRequest(NOTE_REQUEST, ({ project, config, values }: NoteParams, token) =>
    runner.request<string | null>('Note', null, token, async () => {
      const { noteForFile, noteForProject } = await import('../../advice/project-note');
      const text =
        config === undefined ? noteForProject(project.text, values) : noteForFile(project, config, values);
      return text ?? null;
    }),
  );
}
