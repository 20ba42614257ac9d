// Rendering in the native K3 format: the release's own encoder (where its cases are at hand), the built-in
// model's prompts down to the ids, and our cases from the specification.

#include "waste/chat_format.h"

#include <nlohmann/json.hpp>

#include <QTest>

#include <filesystem>
#include <fstream>

using namespace waste;
using Json = nlohmann::ordered_json;

namespace {

std::shared_ptr<const ChatFormat> format()
{
    static const auto opened =
        *ChatFormat::open(WASTE_K3_MINI_CHECKPOINT, *Tokenizer::open(WASTE_K3_MINI_CHECKPOINT, 2818));
    return opened;
}

Json readJson(const std::filesystem::path& file)
{
    std::ifstream stream(file);
    return Json::parse(stream);
}

Json segmentsOf(const Prompt& prompt)
{
    Json segments = Json::array();
    for (const Segment& segment : prompt.segments)
        segments.push_back({{"text", segment.text}, {"markup", segment.kind != Segment::Kind::Plain}});
    return segments;
}

// Neighbouring texts of one kind as one string, markup in «», so that a case can be read and written.
std::string outline(const Prompt& prompt)
{
    std::string text;
    for (const Segment& segment : prompt.segments)
        text += segment.kind == Segment::Kind::Plain ? segment.text : "«" + segment.text + "»";
    return text;
}

void compare(const Json& actual, const Json& expected)
{
    for (std::size_t i = 0; i < std::min(actual.size(), expected.size()); ++i)
        QVERIFY2(actual[i] == expected[i], (std::to_string(i) + ": " + actual[i].dump() + expected[i].dump()).c_str());
    QCOMPARE(actual.size(), expected.size());
}

} // namespace

class TestK3Format : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void rendersAsTheReleasesEncoder_data()
    {
        QTest::addColumn<QByteArray>("input");
        QTest::addColumn<QByteArray>("segments");
        const auto file = std::filesystem::path(WASTE_FIXTURES) / "xtml" / "cases.json";
        if (std::string_view(WASTE_FIXTURES).empty() || !std::filesystem::exists(file))
            QSKIP("the cases of the release's encoder are not here (WASTE_FIXTURES)");
        const Json golden = readJson(file);
        for (const Json& item : golden["cases"]) {
            QTest::newRow(item["name"].get<std::string>().c_str()) << QByteArray::fromStdString(
                item["input"].dump()) << QByteArray::fromStdString(item["segments"].dump());
        }
    }
    void rendersAsTheReleasesEncoder()
    {
        QFETCH(QByteArray, input);
        QFETCH(QByteArray, segments);
        const auto prompt = format()->renderInput(input.toStdString());
        QVERIFY2(prompt, prompt ? "" : prompt.error().message.c_str());
        compare(segmentsOf(*prompt), Json::parse(segments.toStdString()));
    }

    void rendersThePromptsOfTheBuiltInModel_data()
    {
        QTest::addColumn<QByteArray>("item");
        const Json golden = readJson(WASTE_TEST_DATA "/k3-mini/chat.json");
        for (const Json& item : golden["cases"])
            QTest::newRow(item["name"].get<std::string>().c_str()) << QByteArray::fromStdString(item.dump());
    }
    void rendersThePromptsOfTheBuiltInModel()
    {
        QFETCH(QByteArray, item);
        const Json golden = Json::parse(item.toStdString());
        std::size_t image = 0;
        RenderOptions options{.effort = "none"};
        options.image = [&](const ImageReference& reference) -> Result<ImageSize> {
            const Json& size = golden["image_sizes"][image++];
            if (reference.value != "image" || reference.place != "messages[0].content[0]")
                return Error{ErrorCode::Internal, "", "not the picture that the request names"};
            return ImageSize{size[0].get<std::uint32_t>(), size[1].get<std::uint32_t>()};
        };
        const auto prompt = format()->render(golden["request"].dump(), options);
        QVERIFY2(prompt, prompt ? "" : prompt.error().message.c_str());
        Json expected = Json::array();
        for (const Json& segment : golden["segments"])
            expected.push_back({{"text", segment[0]}, {"markup", segment[1]}});
        compare(segmentsOf(*prompt), expected);

        const auto ids = golden["ids_unexpanded"].get<std::vector<TokenId>>();
        QCOMPARE(*encodeSegments(format()->tokenizer(), prompt->segments), ids);
        const std::vector<std::uint32_t> counts(golden["image_sizes"].size(), 7);
        const auto expanded = *encodeSegments(format()->tokenizer(), prompt->segments, counts);
        QCOMPARE(expanded.size(), ids.size() + 6 * counts.size());
    }

    void rendersOurOwnCases_data()
    {
        QTest::addColumn<QByteArray>("item");
        const Json golden = readJson(WASTE_TEST_DATA "/xtml/own_cases.json");
        for (const Json& item : golden["render"])
            QTest::newRow(item["name"].get<std::string>().c_str()) << QByteArray::fromStdString(item.dump());
    }
    void rendersOurOwnCases()
    {
        QFETCH(QByteArray, item);
        const Json golden = Json::parse(item.toStdString());
        const auto prompt = format()->renderInput(golden["input"].dump());
        QVERIFY2(prompt, prompt ? "" : prompt.error().message.c_str());
        QCOMPARE(
            QString::fromStdString(outline(*prompt)), QString::fromStdString(golden["outline"].get<std::string>()));
        for (const Segment& segment : prompt->segments)
            QVERIFY(!segment.text.empty());
    }

    void refusesWhatCannotBeRendered_data()
    {
        QTest::addColumn<QByteArray>("input");
        QTest::addColumn<QString>("message");
        const Json golden = readJson(WASTE_TEST_DATA "/xtml/own_cases.json");
        for (const Json& item : golden["errors"]) {
            QTest::newRow(item["name"].get<std::string>().c_str()) << QByteArray::fromStdString(
                item["input"].dump()) << QString::fromStdString(item["message"].get<std::string>());
        }
    }
    void refusesWhatCannotBeRendered()
    {
        QFETCH(QByteArray, input);
        QFETCH(QString, message);
        const auto prompt = format()->renderInput(input.toStdString());
        QVERIFY(!prompt);
        QCOMPARE(prompt.error().code, ErrorCode::InvalidArgument);
        QCOMPARE(QString::fromStdString(prompt.error().message), message);
    }

    void anArgumentTextThatIsNestedTooDeeplyIsRefused()
    {
        const auto render = [](int depth) {
            const std::string value =
                std::string(static_cast<std::size_t>(depth), '[') + std::string(static_cast<std::size_t>(depth), ']');
            const Json call{{"name", "f"}, {"arguments", "{\"a\": " + value + "}"}};
            return format()->renderInput(Json{{"messages", {{{"role", "assistant"}, {"tool_calls", {call}}}}}}.dump());
        };
        QVERIFY(render(255));
        QVERIFY(!render(256));
    }

    void orderingToolResultsTwiceChangesNothing()
    {
        const auto render = [](const std::vector<std::string>& ids) {
            Json messages = Json::parse(R"([{"role": "assistant", "tool_calls": [
                {"id": "a", "function": {"name": "f"}}, {"id": "b", "function": {"name": "g"}},
                {"id": "c", "function": {"name": "h"}}]}])");
            for (const std::string& id : ids)
                messages.push_back({{"role", "tool"}, {"tool_call_id", id}, {"name", "stale"}, {"content", id}});
            return outline(*format()->renderInput(Json{{"messages", messages}}.dump()));
        };
        const std::string ordered = render({"a", "b", "c"});
        QCOMPARE(render({"c", "a", "b"}), ordered);
        QCOMPARE(render({"b", "c", "a"}), ordered);
        QVERIFY(ordered.find("stale") == std::string::npos);
        QVERIFY(render({"c", "a", "x"}).find("stale") != std::string::npos); // one is unknown: left as it is
    }

    void pictureSizesAreAskedForInTheOrderOfThePrompt()
    {
        const std::string request = R"([
            {"role": "system", "tools": [{"type": "function", "function": {"name": "f"}}],
             "content": [{"type": "image", "image": "never asked for"}]},
            {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f"}}, {"id": "b", "function": {"name": "f"}}]},
            {"role": "tool", "tool_call_id": "b", "content": [{"type": "image_url", "image_url": {"url": "second"}}]},
            {"role": "tool", "tool_call_id": "a", "content": [{"type": "image", "image": {"path": "first"}}]},
            {"role": "user", "content": [{"type": "image", "image": {"data": "third"}}]}])";
        std::vector<std::string> asked;
        RenderOptions options;
        options.image = [&](const ImageReference& reference) -> Result<ImageSize> {
            asked.push_back(reference.place + ' ' + reference.value);
            return ImageSize{static_cast<std::uint32_t>(asked.size()), 5};
        };
        const auto prompt = format()->render(request, options);
        QVERIFY2(prompt, prompt ? "" : prompt.error().message.c_str());
        QCOMPARE(asked,
            (std::vector<std::string>{
                "messages[3].content[0] first", "messages[2].content[0] second", "messages[4].content[0] third"}));
        std::vector<std::uint32_t> widths;
        for (const Segment& segment : prompt->segments) {
            if (segment.kind == Segment::Kind::Image)
                widths.push_back(segment.imageWidth);
        }
        QCOMPARE(widths, (std::vector<std::uint32_t>{1, 2, 3}));
        QCOMPARE(prompt->declaredTools, std::vector<std::string>{"f"});
    }

    void aPlaceholderThatSomebodyWritesTakesNoPicture()
    {
        const auto prompt = format()->render(R"([{"role": "user", "content": "<|kimi_image_placeholder|>"}])", {});
        QVERIFY(outline(*prompt).find("<|kimi_image_placeholder|>«<|close|>»") != std::string::npos);
    }

    void picturesNeedSomebodyWhoCanReadThem()
    {
        const auto prompt = format()->render(R"([{"role": "user", "content": [{"type": "image", "image": "x"}]}])", {});
        QCOMPARE(prompt.error().code, ErrorCode::Unsupported);
        QCOMPARE(prompt.error().reason, std::string("vision_disabled"));
    }

    void theEndsOfMessagesAreReported()
    {
        const auto prompt = format()->render(
            R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}], "tool_choice": "none"})",
            {});
        QCOMPARE(prompt->messageEnds.size(), std::size_t{3});
        const auto upTo = [&](std::size_t end) {
            Prompt part;
            part.segments.assign(prompt->segments.begin(), prompt->segments.begin() + static_cast<std::ptrdiff_t>(end));
            return outline(part);
        };
        QVERIFY(upTo(prompt->messageEnds[0]).find("thinking_effort=low") != std::string::npos);
        QVERIFY(upTo(prompt->messageEnds[0]).find("role=\"user\"") == std::string::npos);
        QVERIFY(upTo(prompt->messageEnds[1]).ends_with("a«<|close|>»message«<|sep|>»«<|end_of_msg|>»"));
        QVERIFY(upTo(prompt->messageEnds[2]).ends_with("«<|close|>»message«<|sep|>»«<|end_of_msg|>»"));
        QVERIFY(prompt->messageEnds[2] < prompt->segments.size());
    }

    void countsMustFitThePictures()
    {
        const std::vector<Segment> segments{{Segment::Kind::Image, "<|media_pad|>", 1, 1}};
        const std::vector<std::uint32_t> two{1, 2};
        QVERIFY(!encodeSegments(format()->tokenizer(), segments, two));
        const std::vector<Segment> none{{Segment::Kind::Image, "no placeholder", 1, 1}};
        QVERIFY(!encodeSegments(format()->tokenizer(), none));
    }
};

QTEST_GUILESS_MAIN(TestK3Format)
#include "tst_k3_format.moc"
