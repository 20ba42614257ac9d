#pragma once

#include "cli/value_parsers.h"

#include "waste/result.h"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace waste::cli {

// The arguments of one command: what it accepts, where the values go, and its help.
//
// Values come from the command line, else from environment variables, else from the configuration file.
// Conventions (spec: cli B.2): options and positionals in any order; "--" ends the options; "--opt=value"
// and "--opt value"; of an option that is given twice the last one counts. A separate value that begins
// with "-" and is no number counts as missing.
class Arguments {
public:
    struct Option {
        std::string name; // "--budget"
        std::string otherName; // "-q", "--temperature"; may be empty
        std::string valueName; // "SIZE"; empty: a flag
        std::string help;
        std::string defaultText; // shown in the help; may be empty
        std::string group;
        ValueParser store;
        std::string variable; // environment variable that gives the default
        bool variableInverted = false; // a flag that is set where the variable says no
        bool isRepeatable = false;
        bool isListed = true; // in the help

        Option& alias(std::string other);
        Option& byDefault(std::string text);
        Option& environment(std::string name);
        Option& environmentInverted(std::string name);
        Option& repeatable();
        Option& unlisted();
    };

    Arguments(std::string synopsis, std::string description);

    // Options that are added from now on stand under this title.
    void group(std::string title);
    // References stay valid until the next option is added.
    Option& value(std::string name, std::string valueName, ValueParser store, std::string help);
    Option& flag(std::string name, bool& target, std::string help);
    Option& flag(std::string name, std::function<void()> set, std::string help);
    // Filled in the order of declaration. The variable, if any, stands in only when no positional is given.
    void positional(std::string& target, std::string variable = {});
    void positional(std::optional<std::string>& target);

    // Error: InvalidArgument, with the nearest name for an unknown option.
    Status parseCommandLine(std::span<const std::string> arguments);
    // Values of options that are still unset.
    Status applyEnvironment();
    // One JSON object: long name without dashes → value. `allNames` are the options of the whole program:
    // one file serves every command. What no command knows becomes a warning.
    Status applyConfiguration(
        const std::filesystem::path& file, std::span<const std::string> allNames, std::vector<std::string>& warnings);

    [[nodiscard]] std::string help() const;
    [[nodiscard]] std::vector<std::string> optionNames() const; // every spelling
    [[nodiscard]] std::vector<Option> listedOptions() const; // those of the help

private:
    struct Positional {
        std::function<void(std::string_view)> store;
        std::string variable;
    };
    struct Entry {
        Option option;
        bool isSet = false;
    };
    Entry* find(std::string_view name);
    // `next` is the argument behind this one, null at the end; `tookNext` says that it was the value.
    Status parseOption(std::string_view argument, const std::string* next, bool& tookNext);
    Status parsePositional(std::string_view argument);

    std::string m_synopsis;
    std::string m_description;
    std::string m_group;
    std::vector<Entry> m_entries;
    std::vector<Positional> m_positionals;
    std::size_t m_positionalCount = 0; // given so far
};

} // namespace waste::cli
