#include "cli/arguments.h"

#include "cli/nearest_name.h"

#include "waste/files.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <utility>

namespace waste::cli {

namespace {

constexpr std::size_t kConfigurationBytesMax = 1 << 20;
constexpr std::size_t kHelpColumn = 28;

Error usage(std::string message)
{
    return {ErrorCode::InvalidArgument, "", std::move(message)};
}

bool isNumber(std::string_view text)
{
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size();
}

// "-" alone is standard input.
bool looksLikeOption(std::string_view argument)
{
    return argument.size() > 1 && argument.front() == '-';
}

std::optional<bool> parseSwitch(std::string_view text)
{
    static constexpr std::array kYes = {"1", "true", "on", "yes"};
    static constexpr std::array kNo = {"0", "false", "off", "no"};
    if (std::find(kYes.begin(), kYes.end(), text) != kYes.end())
        return true;
    if (std::find(kNo.begin(), kNo.end(), text) != kNo.end())
        return false;
    return std::nullopt;
}

Status storeFrom(const std::string& origin, const Arguments::Option& option, std::string_view value)
{
    auto stored = option.store(value);
    if (!stored)
        stored.error().message = origin + ": " + stored.error().message;
    return stored;
}

// A JSON value of the configuration file as the text that would stand on the command line.
std::optional<std::string> optionText(const nlohmann::json& value)
{
    if (value.is_string())
        return value.get<std::string>();
    if (value.is_number())
        return value.dump();
    return std::nullopt;
}

Status storeConfigured(const std::string& origin, const Arguments::Option& option, const nlohmann::json& value)
{
    if (option.valueName.empty()) {
        if (!value.is_boolean())
            return usage(origin + ": this is a switch; its value is true or false");
        return value.get<bool>() ? storeFrom(origin, option, "") : Status{};
    }
    if (value.is_array() && option.isRepeatable) {
        for (const nlohmann::json& item : value) {
            const auto text = optionText(item);
            if (!text)
                return usage(origin + ": an item is neither a string nor a number");
            WASTE_TRY_STATUS(storeFrom(origin, option, *text));
        }
        return {};
    }
    const auto text = optionText(value);
    if (!text)
        return usage(origin + ": the value is neither a string nor a number");
    return storeFrom(origin, option, *text);
}

} // namespace

Arguments::Option& Arguments::Option::alias(std::string other)
{
    otherName = std::move(other);
    return *this;
}

Arguments::Option& Arguments::Option::byDefault(std::string text)
{
    defaultText = std::move(text);
    return *this;
}

Arguments::Option& Arguments::Option::environment(std::string variableName)
{
    variable = std::move(variableName);
    return *this;
}

Arguments::Option& Arguments::Option::environmentInverted(std::string variableName)
{
    variableInverted = true;
    return environment(std::move(variableName));
}

Arguments::Option& Arguments::Option::repeatable()
{
    isRepeatable = true;
    return *this;
}

Arguments::Option& Arguments::Option::unlisted()
{
    isListed = false;
    return *this;
}

Arguments::Arguments(std::string synopsis, std::string description)
    : m_synopsis(std::move(synopsis))
    , m_description(std::move(description))
{
}

void Arguments::group(std::string title)
{
    m_group = std::move(title);
}

Arguments::Option& Arguments::value(std::string name, std::string valueName, ValueParser store, std::string help)
{
    Entry& entry = m_entries.emplace_back();
    entry.option.name = std::move(name);
    entry.option.valueName = std::move(valueName);
    entry.option.help = std::move(help);
    entry.option.group = m_group;
    entry.option.store = std::move(store);
    return entry.option;
}

Arguments::Option& Arguments::flag(std::string name, bool& target, std::string help)
{
    return flag(
        std::move(name), [&target] { target = true; }, std::move(help));
}

Arguments::Option& Arguments::flag(std::string name, std::function<void()> set, std::string help)
{
    const auto store = [set = std::move(set)](std::string_view) -> Status {
        set();
        return {};
    };
    return value(std::move(name), "", store, std::move(help));
}

void Arguments::positional(std::string& target, std::string variable)
{
    m_positionals.push_back({[&target](std::string_view text) { target = text; }, std::move(variable)});
}

void Arguments::positional(std::optional<std::string>& target)
{
    m_positionals.push_back({[&target](std::string_view text) { target = std::string(text); }, ""});
}

Arguments::Entry* Arguments::find(std::string_view name)
{
    const auto found = std::find_if(m_entries.begin(), m_entries.end(),
        [&](const Entry& entry) { return entry.option.name == name || entry.option.otherName == name; });
    return found == m_entries.end() ? nullptr : &*found;
}

Status Arguments::parseCommandLine(std::span<const std::string> arguments)
{
    bool onlyPositionals = false;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& argument = arguments[i];
        if (!onlyPositionals && argument == "--") {
            onlyPositionals = true;
        } else if (!onlyPositionals && looksLikeOption(argument)) {
            bool tookNext = false;
            const std::string* next = i + 1 < arguments.size() ? &arguments[i + 1] : nullptr;
            WASTE_TRY_STATUS(parseOption(argument, next, tookNext));
            i += tookNext ? 1 : 0;
        } else {
            WASTE_TRY_STATUS(parsePositional(argument));
        }
    }
    return {};
}

Status Arguments::parseOption(std::string_view argument, const std::string* next, bool& tookNext)
{
    const std::size_t equals = argument.starts_with("--") ? argument.find('=') : std::string_view::npos;
    const std::string name(argument.substr(0, equals));
    Entry* entry = find(name);
    if (!entry)
        return usage("unknown option " + name + suggestion(name, optionNames()) + " (`waste help "
            + m_synopsis.substr(0, m_synopsis.find(' ')) + "` lists them all)");
    entry->isSet = true;
    if (entry->option.valueName.empty()) {
        if (equals != std::string_view::npos)
            return usage(name + " takes no value");
        return storeFrom(name, entry->option, "");
    }
    if (equals != std::string_view::npos)
        return storeFrom(name, entry->option, argument.substr(equals + 1));
    if (!next || (looksLikeOption(*next) && !isNumber(*next)))
        return usage(name + " needs a value: " + name + " " + entry->option.valueName);
    tookNext = true;
    return storeFrom(name, entry->option, *next);
}

Status Arguments::parsePositional(std::string_view argument)
{
    if (m_positionalCount == m_positionals.size())
        return usage("'" + std::string(argument) + "' is one argument too many; put text with blanks in quotes");
    m_positionals[m_positionalCount++].store(argument);
    return {};
}

Status Arguments::applyEnvironment()
{
    const auto variable = [](const std::string& name) {
        const char* text = name.empty() ? nullptr : std::getenv(name.c_str());
        return std::string_view(text ? text : "");
    };
    if (m_positionalCount == 0 && !m_positionals.empty()) {
        if (const std::string_view value = variable(m_positionals.front().variable); !value.empty()) {
            m_positionals.front().store(value);
            m_positionalCount = 1;
        }
    }
    for (Entry& entry : m_entries) {
        const Option& option = entry.option;
        const std::string_view value = variable(option.variable);
        if (entry.isSet || value.empty())
            continue;
        entry.isSet = true;
        if (!option.valueName.empty()) {
            WASTE_TRY_STATUS(storeFrom(option.variable, option, value));
            continue;
        }
        const auto isOn = parseSwitch(value);
        if (!isOn)
            return usage(option.variable + ": '" + std::string(value) + "' is neither 0 nor 1");
        if (*isOn != option.variableInverted)
            WASTE_TRY_STATUS(storeFrom(option.variable, option, ""));
    }
    return {};
}

Status Arguments::applyConfiguration(
    const std::filesystem::path& file, std::span<const std::string> allNames, std::vector<std::string>& warnings)
{
    const std::string name = textOfPath(file);
    WASTE_TRY(const std::string text, readFile(file, kConfigurationBytesMax));
    const auto object = nlohmann::json::parse(text, nullptr, false);
    if (!object.is_object())
        return usage(name + " is not one JSON object");

    for (const auto& [key, value] : object.items()) {
        const std::string optionName = "--" + key;
        Entry* entry = find(optionName);
        if (!entry && std::find(allNames.begin(), allNames.end(), optionName) == allNames.end())
            warnings.push_back(name + ": unknown key \"" + key + "\"" + suggestion(optionName, allNames));
        if (!entry || entry->isSet)
            continue;
        entry->isSet = true;
        WASTE_TRY_STATUS(storeConfigured(name + ": " + key, entry->option, value));
    }
    return {};
}

std::string Arguments::help() const
{
    std::string text = "usage: waste " + m_synopsis + "\n\n" + m_description + "\n";
    std::string group;
    for (const Entry& entry : m_entries) {
        const Option& option = entry.option;
        if (!option.isListed)
            continue;
        if (option.group != group) {
            group = option.group;
            text += "\n" + group + "\n";
        }
        std::string line = "  " + option.name;
        if (!option.otherName.empty())
            line = option.otherName.size() == 2 ? "  " + option.otherName + ", " + option.name
                                                : line + ", " + option.otherName;
        if (!option.valueName.empty())
            line += " " + option.valueName;
        line.resize(std::max(line.size() + 2, kHelpColumn), ' ');
        text += line + option.help + (option.defaultText.empty() ? "" : " [" + option.defaultText + "]") + "\n";
    }
    return text;
}

std::vector<std::string> Arguments::optionNames() const
{
    std::vector<std::string> names;
    for (const Entry& entry : m_entries) {
        names.push_back(entry.option.name);
        if (!entry.option.otherName.empty())
            names.push_back(entry.option.otherName);
    }
    return names;
}

std::vector<Arguments::Option> Arguments::listedOptions() const
{
    std::vector<Option> options;
    for (const Entry& entry : m_entries)
        if (entry.option.isListed)
            options.push_back(entry.option);
    return options;
}

} // namespace waste::cli
