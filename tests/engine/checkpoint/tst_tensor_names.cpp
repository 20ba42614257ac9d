// Names of routed experts, and everything that only looks like one.

#include "checkpoint/tensor_names.h"

#include <QTest>

using namespace waste;

class TensorNamesTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyExpertNameIsReadBack()
    {
        for (const char* prefix : {"", "language_model."}) {
            for (const ExpertMatrix matrix : kExpertMatrices) {
                const ExpertTensorName expert = {92, 895, matrix};
                QCOMPARE(parseExpertTensorName(expertTensorName(prefix, expert), prefix), std::optional(expert));
            }
        }
    }

    void w1IsGateAndW3IsUpAndW2IsDown()
    {
        const auto matrixOf = [](const std::string& tag) {
            return parseExpertTensorName("model.layers.3.block_sparse_moe.experts.7." + tag + ".weight", "")->matrix;
        };
        QCOMPARE(matrixOf("w1"), ExpertMatrix::Gate);
        QCOMPARE(matrixOf("w3"), ExpertMatrix::Up);
        QCOMPARE(matrixOf("w2"), ExpertMatrix::Down);
    }

    void otherNamesAreNoExperts_data()
    {
        QTest::addColumn<QString>("name");
        for (const char* name : {"", "model.layers.1.block_sparse_moe.gate.weight",
                 "model.layers.1.block_sparse_moe.shared_experts.gate_proj.weight",
                 "model.layers.01.block_sparse_moe.experts.0.w1.weight",
                 "model.layers.1.block_sparse_moe.experts.-1.w1.weight",
                 "model.layers.1.block_sparse_moe.experts.+1.w1.weight",
                 "model.layers.1.block_sparse_moe.experts..w1.weight",
                 "model.layers.1.block_sparse_moe.experts.99999999999.w1.weight",
                 "model.layers.1.block_sparse_moe.experts.0.w4.weight",
                 "model.layers.1.block_sparse_moe.experts.0.w1.weight_packed",
                 "model.layers.1.block_sparse_moe.experts.0.w1.bias",
                 "language_model.model.layers.1.block_sparse_moe.experts.0.w1.weight"})
            QTest::newRow(name) << name;
    }
    void otherNamesAreNoExperts()
    {
        QFETCH(QString, name);
        QVERIFY(!parseExpertTensorName(name.toStdString(), ""));
    }

    void sharedExpertsAreDense()
    {
        QVERIFY(isExpertTensor("model.layers.1.block_sparse_moe.experts.0.w1.weight"));
        QVERIFY(!isExpertTensor("model.layers.1.block_sparse_moe.shared_experts.up_proj.weight"));
    }
};

QTEST_APPLESS_MAIN(TensorNamesTest)
#include "tst_tensor_names.moc"
