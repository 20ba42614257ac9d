#include "prompt/k3_notes.h"

#include "prompt/prompt_error.h"

namespace waste::k3 {

namespace {

using Kind = JsonValue::Kind;

constexpr std::string_view kRawJsonOnly =
    "Your response must be raw JSON data without markdown code blocks (```json) or any additional formatting.";

std::string sortedJson(const JsonValue& value)
{
    return writeJson(sortedByKey(value), JsonStyle::Compact);
}

// json_schema.schema, else json_schema.json_schema, else json_schema itself.
Result<const JsonValue*> schemaOf(const JsonValue& format)
{
    const JsonValue* schema = format.find("json_schema");
    if (schema == nullptr || !schema->is(Kind::Object))
        return requestError("response_format.json_schema", "must be an object");
    for (const char* key : {"schema", "json_schema"}) {
        if (const JsonValue* inner = schema->find(key))
            return inner;
    }
    return schema;
}

} // namespace

std::string toolDeclaration(const JsonValue& tools)
{
    return "# Tools\nHere are the available tools, described in JSONSchema.\n\n```json\n" + sortedJson(tools) + "\n```";
}

std::string laterToolDeclaration(const JsonValue& tools)
{
    return "## New Tools Available\n"
           "The system dynamically extends the toolset via lazy-loading.\n"
           "You have access to all existing and extended tools.\n"
           "Here are the specs for the extended tools.\n\n```json\n"
        + sortedJson(tools) + "\n```";
}

Result<std::string> effortNote(std::string_view effort)
{
    if (effort != "low" && effort != "high" && effort != "max")
        return requestError("thinking_effort", "must be low, high or max");
    return "`thinking_effort` guides on how much to think in your thinking channel (not including the response "
           "channel), supported values include `low`, `medium`, `high`, and `max`.\n"
           "Now the system is invoked with `thinking_effort="
        + std::string(effort) + "`.";
}

Result<std::string> toolChoiceNote(std::string_view choice)
{
    if (choice == "auto")
        return std::string();
    if (choice == "required")
        return std::string("The system is invoked with `tool_choice=required`.\n"
                           "You MUST call tools in the next message.");
    if (choice == "none")
        return std::string("The system is invoked with `tool_choice=none`.\n"
                           "You MUST NOT call any tools in the next message.");
    return requestError("tool_choice", "must be auto, none or required");
}

Result<std::string> responseFormatNote(const JsonValue& format)
{
    const JsonValue* type = format.find("type");
    if (!format.is(Kind::Object) || type == nullptr || !type->is(Kind::String))
        return requestError("response_format.type", "must be a string");
    if (type->text == "text")
        return std::string();
    if (type->text != "json_object" && type->text != "json_schema")
        return requestError("response_format.type", "must be text, json_object or json_schema");
    std::string note = "The system is invoked with `response_format=" + type->text + "`.\n" + std::string(kRawJsonOnly);
    if (type->text == "json_schema") {
        WASTE_TRY(const JsonValue* schema, schemaOf(format));
        note += "\nThe JSON data must match the following schema:\n```json\n" + sortedJson(*schema) + "\n```";
    }
    return note;
}

std::string namedToolNote(std::string_view name)
{
    return "You must call the tool `" + std::string(name) + "` in your next message, and no other.";
}

} // namespace waste::k3
