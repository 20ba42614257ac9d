#include "chat/code_tokens.h"

#include <array>

namespace waste::app {

namespace {

constexpr const char* kCWords =
    "alignas alignof asm auto bool break case catch char class const constexpr continue co_await co_return co_yield "
    "concept decltype default delete do double else enum explicit export extern false final float for friend goto if "
    "inline int long mutable namespace new noexcept nullptr operator override private protected public register "
    "requires return short signed sizeof static static_assert struct switch template this throw true try typedef "
    "typename union unsigned using virtual void volatile while NULL #include #define #if #ifdef #ifndef #else #elif "
    "#endif #pragma";
constexpr const char* kScriptWords =
    "abstract any as async await boolean break case catch class const continue debugger declare default delete do else "
    "enum export extends false finally for from function get if implements import in instanceof interface keyof let "
    "new "
    "null number of private protected public readonly return set static string super switch this throw true try type "
    "typeof undefined var void while with yield";
constexpr const char* kJavaWords =
    "abstract as async await base bool boolean break byte case catch char class const continue data decimal default "
    "delegate do double else enum event extends false final finally float for foreach fun get if implements import in "
    "instanceof int interface internal is let long namespace new null object out override package private protected "
    "public readonly record ref return sealed set short static string struct super switch this throw throws true try "
    "using val var virtual void volatile when where while yield";
constexpr const char* kPythonWords =
    "False None True and as assert async await break case class continue def del elif else except finally for from "
    "global if import in is lambda match nonlocal not or pass raise return self try while with yield";
constexpr const char* kRustWords =
    "as async await bool break char const continue crate dyn else enum extern f32 f64 false fn for i16 i32 i64 i8 if "
    "impl in isize let loop match mod move mut pub ref return self Self static str struct super trait true type u16 "
    "u32 "
    "u64 u8 unsafe use usize where while";
constexpr const char* kGoWords =
    "bool break byte case chan const continue default defer else error fallthrough false float32 float64 for func go "
    "goto if import int int32 int64 interface iota map nil package range return rune select string struct switch true "
    "type uint uint32 uint64 var";
constexpr const char* kSqlWords =
    "add all alter and as asc attach avg begin between by cascade case check column commit concurrently "
    "constraint count create cross database default delete desc detach distinct drop else end exists explain for "
    "foreign from full grant group having if in index inner insert into is join key left like limit max maxvalue "
    "min minvalue not null of offset on or order outer over partition primary references revoke right rollback "
    "row rows select set sum table then to transaction truncate union unique update using valid validate values "
    "view when where with";
constexpr const char* kShellWords =
    "alias break case cd continue do done echo elif else esac eval exec exit export fi for function if in local read "
    "readonly return set shift source sudo then trap unset until while";
constexpr const char* kSwiftWords =
    "actor as async await break case catch class continue default defer do else enum extension false for func guard if "
    "import in init inout is let nil override private protocol public return self static struct super switch throw "
    "throws true try var where while";
constexpr const char* kRubyWords =
    "and begin break case class def do else elsif end ensure false for if in module next nil not or puts redo require "
    "rescue retry return self super then true unless until when while yield";

constexpr std::array kLanguages = {
    CodeLanguage{"c h cpp c++ cc cxx hpp objective-c objc cuda glsl", kCWords, "//", "/*", "*/"},
    CodeLanguage{"javascript js jsx typescript ts tsx qml", kScriptWords, "//", "/*", "*/", "\"'`", "`"},
    CodeLanguage{"java kotlin kt csharp cs c# scala", kJavaWords, "//", "/*", "*/"},
    CodeLanguage{"python py python3", kPythonWords, "#", nullptr, nullptr, "\"'", "\"'", true},
    CodeLanguage{"rust rs", kRustWords, "//", "/*", "*/", "\""}, // a single ' begins a lifetime more often
    CodeLanguage{"go golang", kGoWords, "//", "/*", "*/", "\"'`", "`"},
    CodeLanguage{"sql postgresql mysql sqlite plsql", kSqlWords, "--", "/*", "*/", "\"'", "'", false, true},
    CodeLanguage{"bash sh shell zsh console dockerfile makefile make cmake", kShellWords, "#"},
    CodeLanguage{"swift", kSwiftWords, "//", "/*", "*/", "\""},
    CodeLanguage{"ruby rb", kRubyWords, "#"},
    CodeLanguage{"json json5 jsonc", "true false null", "//", "/*", "*/", "\""},
    CodeLanguage{"yaml yml toml ini conf", "true false null yes no on off", "#"},
    CodeLanguage{"html xml svg", "", nullptr, "<!--", "-->"},
    CodeLanguage{"css scss", "", nullptr, "/*", "*/"},
};

} // namespace

const CodeLanguage* codeLanguage(const QString& name)
{
    const QString wanted = name.toLower();
    for (const CodeLanguage& language : kLanguages) {
        if (QString::fromLatin1(language.names).split(' ').contains(wanted))
            return &language;
    }
    return nullptr;
}

} // namespace waste::app
