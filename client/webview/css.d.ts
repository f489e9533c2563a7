// Style sheets are picked up by the bundler.
declare module '*.css';
