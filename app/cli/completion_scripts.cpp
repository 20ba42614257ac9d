#include "cli/completion_scripts.h"

#include <string_view>

namespace waste::cli {

namespace {

// Commands whose first argument is one of a few words and no file.
struct WordList {
    std::string_view command;
    std::string_view words;
};
constexpr WordList kWordLists[] = {{"session", "list show delete"}, {"completion", "bash zsh fish"}};

std::string replaced(std::string_view text, char wanted, std::string_view replacement)
{
    std::string result;
    for (const char c : text) {
        if (c == wanted)
            result += replacement;
        else
            result += c;
    }
    return result;
}

// Between single quotes of bash and zsh.
std::string shellQuoted(std::string_view text)
{
    return "'" + replaced(text, '\'', "'\\''") + "'";
}

std::string fishQuoted(std::string_view text)
{
    return "'" + replaced(replaced(text, '\\', "\\\\"), '\'', "\\'") + "'";
}

// An item of zsh's _describe: name and description with a colon between them.
std::string described(std::string_view name, std::string_view description)
{
    return shellQuoted(std::string(name) + ":" + replaced(description, ':', "\\:"));
}

std::string namesOf(std::span<const DescribedCommand> commands)
{
    std::string names;
    for (const DescribedCommand& command : commands)
        names += (names.empty() ? "" : " ") + command.name;
    return names;
}

std::string spellings(const Arguments::Option& option)
{
    return option.otherName.empty() ? option.name : option.name + " " + option.otherName;
}

} // namespace

std::string bashCompletion(std::span<const DescribedCommand> commands)
{
    std::string script = "# In ~/.bashrc: eval \"$(waste completion bash)\"\n"
                         "_waste() {\n"
                         "    local word=${COMP_WORDS[COMP_CWORD]} words=\n"
                         "    local commands="
        + shellQuoted(namesOf(commands))
        + "\n"
          "    if [ \"$COMP_CWORD\" = 1 ]; then\n"
          "        words=$commands\n"
          "    elif [[ $word == -* ]]; then\n"
          "        case ${COMP_WORDS[1]} in\n";
    for (const DescribedCommand& command : commands) {
        std::string names;
        for (const Arguments::Option& option : command.options)
            names += (names.empty() ? "" : " ") + spellings(option);
        script += "            " + command.name + ") words=" + shellQuoted(names) + " ;;\n";
    }
    script += "        esac\n"
              "    elif [ \"$COMP_CWORD\" = 2 ]; then\n"
              "        case ${COMP_WORDS[1]} in\n"
              "            help) words=$commands ;;\n";
    for (const WordList& list : kWordLists)
        script += "            " + std::string(list.command) + ") words=" + shellQuoted(list.words) + " ;;\n";
    // Where there are no words, the shell's own completion of file names takes over.
    return script
        + "        esac\n"
          "    fi\n"
          "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
          "}\n"
          "complete -o default -F _waste waste\n";
}

std::string zshCompletion(std::span<const DescribedCommand> commands)
{
    std::string script = "#compdef waste\n"
                         "# In ~/.zshrc, after compinit: eval \"$(waste completion zsh)\"\n"
                         "_waste() {\n"
                         "    local -a commands options\n"
                         "    commands=(\n";
    for (const DescribedCommand& command : commands)
        script += "        " + described(command.name, command.summary) + "\n";
    script += "    )\n"
              "    if (( CURRENT == 2 )); then\n"
              "        _describe command commands\n"
              "    elif [[ $PREFIX == -* ]]; then\n"
              "        case $words[2] in\n";
    for (const DescribedCommand& command : commands) {
        script += "            " + command.name + ") options=(\n";
        for (const Arguments::Option& option : command.options) {
            script += "                " + described(option.name, option.help) + "\n";
            if (!option.otherName.empty())
                script += "                " + described(option.otherName, option.help) + "\n";
        }
        script += "            ) ;;\n";
    }
    script += "        esac\n"
              "        _describe -o option options\n"
              "    else\n"
              "        case $CURRENT$words[2] in\n"
              "            3help) _describe command commands ;;\n";
    for (const WordList& list : kWordLists)
        script += "            3" + std::string(list.command) + ") compadd " + std::string(list.words) + " ;;\n";
    return script
        + "            *) _files ;;\n"
          "        esac\n"
          "    fi\n"
          "}\n"
          "compdef _waste waste\n";
}

std::string fishCompletion(std::span<const DescribedCommand> commands)
{
    std::string script = "# waste completion fish > ~/.config/fish/completions/waste.fish\n";
    for (const DescribedCommand& command : commands)
        script += "complete -c waste -f -n __fish_use_subcommand -a " + command.name + " -d "
            + fishQuoted(command.summary) + "\n";
    for (const DescribedCommand& command : commands) {
        const std::string seen = "complete -c waste -n '__fish_seen_subcommand_from " + command.name + "'";
        for (const Arguments::Option& option : command.options) {
            script += seen + " -l " + option.name.substr(2);
            if (option.otherName.size() == 2)
                script += " -s " + option.otherName.substr(1);
            else if (!option.otherName.empty())
                script += " -l " + option.otherName.substr(2);
            script += (option.valueName.empty() ? "" : " -r");
            script += " -d " + fishQuoted(option.help) + "\n";
        }
    }
    script += "complete -c waste -f -n '__fish_seen_subcommand_from help' -a '" + namesOf(commands) + "'\n";
    for (const WordList& list : kWordLists)
        script += "complete -c waste -f -n '__fish_seen_subcommand_from " + std::string(list.command) + "' -a '"
            + std::string(list.words) + "'\n";
    return script;
}

} // namespace waste::cli
