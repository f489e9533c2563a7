import type { Repository } from '../../sources/repositories';

export const OPEN_INSTRUCT: Repository = {
  name: 'allenai/open-instruct',
  at: 'e6c3044aa6201c8bfa4573c1b03142af599e730d',
};
