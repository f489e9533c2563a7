var __create = Object.create;
var __defProp = Object.defineProperty;
var __getOwnPropDesc = Object.getOwnPropertyDescriptor;
var __getOwnPropNames = Object.getOwnPropertyNames;
var __getProtoOf = Object.getPrototypeOf;
var __hasOwnProp = Object.prototype.hasOwnProperty;
var __copyProps = (to, from, except, desc) => {
  if (from && typeof from === "object" || typeof from === "function") {
    for (let key of __getOwnPropNames(from))
      if (!__hasOwnProp.call(to, key) && key !== except)
        __defProp(to, key, { get: () => from[key], enumerable: !(desc = __getOwnPropDesc(from, key)) || desc.enumerable });
  }
  return to;
};
var __toESM = (mod, isNodeMode, target) => (target = mod != null ? __create(__getProtoOf(mod)) : {}, __copyProps(
  // If the importer is in node compatibility mode or this is not an ESM
  // file that has been converted to a CommonJS file using a Babel-
  // compatible transform (i.e. "__esModule" has not been set), then set
  // "default" to the CommonJS "module.exports" for node compatibility.
  isNodeMode || !mod || !mod.__esModule ? __defProp(target, "default", { value: mod, enumerable: true }) : target,
  mod
));
var import_grammar = require("/tmp/wt/sH/server/src/config/python/grammar");
var import_parse = require("/tmp/wt/sH/server/src/config/parse");
var import_node_fs = __toESM(require("node:fs"));
describe("dbg", () => {
  before(import_grammar.loadPython);
  it("x", () => {
    const text = import_node_fs.default.readFileSync(process.env.F, "utf8");
    const doc = (0, import_parse.parseConfig)("file://" + process.env.F, text);
    for (const c of doc.program?.calls ?? []) {
      const show = (v) => v.kind === "scalar" ? JSON.stringify(v.value) : v.kind === "object" ? `#${v.id}${v.item === void 0 ? "" : "[" + v.item + "]"}` : v.kind === "either" ? "E(" + v.options.map(show).join("|") + ")" : v.kind === "list" ? "[" + v.items.map(show).join(",").slice(0, 80) + "]" : v.kind + (v.name ? ":" + v.name : "") + (v.of !== void 0 ? "of" + v.of : "") + (v.rows ? "rows" : "");
      console.log(c.id, c.calleeRange.start.line + 1, (c.of ? show(c.of) + "." : "") + c.callee, "(" + c.positional.map(show).join(", ") + "; " + c.named.map((n) => n.key + "=" + show(n.value)).join(", ") + ")", "cond", c.conditions.length, "out", c.outside, "loops", c.loops.length);
    }
  });
});
//# sourceMappingURL=data:application/json;base64,ewogICJ2ZXJzaW9uIjogMywKICAic291cmNlcyI6IFsiL3RtcC9kYmcudHMiXSwKICAic291cmNlc0NvbnRlbnQiOiBbImltcG9ydCB7IGxvYWRQeXRob24gfSBmcm9tICcvdG1wL3d0L3NIL3NlcnZlci9zcmMvY29uZmlnL3B5dGhvbi9ncmFtbWFyJztcbmltcG9ydCB7IHBhcnNlQ29uZmlnIH0gZnJvbSAnL3RtcC93dC9zSC9zZXJ2ZXIvc3JjL2NvbmZpZy9wYXJzZSc7XG5pbXBvcnQgZnMgZnJvbSAnbm9kZTpmcyc7XG5kZXNjcmliZSgnZGJnJywgKCkgPT4geyBiZWZvcmUobG9hZFB5dGhvbik7IGl0KCd4JywgKCkgPT4ge1xuICBjb25zdCB0ZXh0ID0gZnMucmVhZEZpbGVTeW5jKHByb2Nlc3MuZW52LkYhLCAndXRmOCcpO1xuICBjb25zdCBkb2MgPSBwYXJzZUNvbmZpZygnZmlsZTovLycgKyBwcm9jZXNzLmVudi5GISwgdGV4dCk7XG4gIGZvciAoY29uc3QgYyBvZiBkb2MucHJvZ3JhbT8uY2FsbHMgPz8gW10pIHtcbiAgICBjb25zdCBzaG93ID0gKHY6IGFueSk6IHN0cmluZyA9PiB2LmtpbmQgPT09ICdzY2FsYXInID8gSlNPTi5zdHJpbmdpZnkodi52YWx1ZSkgOiB2LmtpbmQgPT09ICdvYmplY3QnID8gYCMke3YuaWR9JHt2Lml0ZW09PT11bmRlZmluZWQ/Jyc6J1snK3YuaXRlbSsnXSd9YCA6IHYua2luZCA9PT0gJ2VpdGhlcicgPyAnRSgnICsgdi5vcHRpb25zLm1hcChzaG93KS5qb2luKCd8JykgKyAnKScgOiB2LmtpbmQgPT09ICdsaXN0JyA/ICdbJyArIHYuaXRlbXMubWFwKHNob3cpLmpvaW4oJywnKS5zbGljZSgwLDgwKSArICddJyA6IHYua2luZCArICh2Lm5hbWUgPyAnOicgKyB2Lm5hbWUgOiAnJykgKyAodi5vZiE9PXVuZGVmaW5lZD8nb2YnK3Yub2Y6JycpICsgKHYucm93cz8ncm93cyc6JycpO1xuICAgIGNvbnNvbGUubG9nKGMuaWQsIGMuY2FsbGVlUmFuZ2Uuc3RhcnQubGluZSArIDEsIChjLm9mID8gc2hvdyhjLm9mKSArICcuJyA6ICcnKSArIGMuY2FsbGVlLCAnKCcgKyBjLnBvc2l0aW9uYWwubWFwKHNob3cpLmpvaW4oJywgJykgKyAnOyAnICsgYy5uYW1lZC5tYXAoKG4pID0+IG4ua2V5ICsgJz0nICsgc2hvdyhuLnZhbHVlKSkuam9pbignLCAnKSArICcpJywgJ2NvbmQnLCBjLmNvbmRpdGlvbnMubGVuZ3RoLCAnb3V0JywgYy5vdXRzaWRlLCAnbG9vcHMnLCBjLmxvb3BzLmxlbmd0aCk7XG4gIH1cbn0pOyB9KTtcbiJdLAogICJtYXBwaW5ncyI6ICI7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7QUFBQSxxQkFBMkI7QUFDM0IsbUJBQTRCO0FBQzVCLHFCQUFlO0FBQ2YsU0FBUyxPQUFPLE1BQU07QUFBRSxTQUFPLHlCQUFVO0FBQUcsS0FBRyxLQUFLLE1BQU07QUFDeEQsVUFBTSxPQUFPLGVBQUFBLFFBQUcsYUFBYSxRQUFRLElBQUksR0FBSSxNQUFNO0FBQ25ELFVBQU0sVUFBTSwwQkFBWSxZQUFZLFFBQVEsSUFBSSxHQUFJLElBQUk7QUFDeEQsZUFBVyxLQUFLLElBQUksU0FBUyxTQUFTLENBQUMsR0FBRztBQUN4QyxZQUFNLE9BQU8sQ0FBQyxNQUFtQixFQUFFLFNBQVMsV0FBVyxLQUFLLFVBQVUsRUFBRSxLQUFLLElBQUksRUFBRSxTQUFTLFdBQVcsSUFBSSxFQUFFLEVBQUUsR0FBRyxFQUFFLFNBQU8sU0FBVSxLQUFHLE1BQUksRUFBRSxPQUFLLEdBQUcsS0FBSyxFQUFFLFNBQVMsV0FBVyxPQUFPLEVBQUUsUUFBUSxJQUFJLElBQUksRUFBRSxLQUFLLEdBQUcsSUFBSSxNQUFNLEVBQUUsU0FBUyxTQUFTLE1BQU0sRUFBRSxNQUFNLElBQUksSUFBSSxFQUFFLEtBQUssR0FBRyxFQUFFLE1BQU0sR0FBRSxFQUFFLElBQUksTUFBTSxFQUFFLFFBQVEsRUFBRSxPQUFPLE1BQU0sRUFBRSxPQUFPLE9BQU8sRUFBRSxPQUFLLFNBQVUsT0FBSyxFQUFFLEtBQUcsT0FBTyxFQUFFLE9BQUssU0FBTztBQUNqWSxjQUFRLElBQUksRUFBRSxJQUFJLEVBQUUsWUFBWSxNQUFNLE9BQU8sSUFBSSxFQUFFLEtBQUssS0FBSyxFQUFFLEVBQUUsSUFBSSxNQUFNLE1BQU0sRUFBRSxRQUFRLE1BQU0sRUFBRSxXQUFXLElBQUksSUFBSSxFQUFFLEtBQUssSUFBSSxJQUFJLE9BQU8sRUFBRSxNQUFNLElBQUksQ0FBQyxNQUFNLEVBQUUsTUFBTSxNQUFNLEtBQUssRUFBRSxLQUFLLENBQUMsRUFBRSxLQUFLLElBQUksSUFBSSxLQUFLLFFBQVEsRUFBRSxXQUFXLFFBQVEsT0FBTyxFQUFFLFNBQVMsU0FBUyxFQUFFLE1BQU0sTUFBTTtBQUFBLElBQ3RSO0FBQUEsRUFDRixDQUFDO0FBQUcsQ0FBQzsiLAogICJuYW1lcyI6IFsiZnMiXQp9Cg==
