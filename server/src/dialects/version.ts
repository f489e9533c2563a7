export { isAtLeast } from '../run/version';
